//! What a model's own decision makes of the examples.

use serde::Serialize;

use super::Evidence;
use super::curve::Row;

/// What is answered and what is rejected by a model's own decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtThreshold {
    /// The largest uncertainty that is accepted; none for a model that rejects by its other rules
    /// alone.
    pub threshold: Option<f64>,
    /// The test examples.
    pub test: Answered,
    /// The shifted ones, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift: Option<Answered>,
    /// Each set of OOD examples.
    pub ood: Vec<Rejected>,
}

/// How many labelled examples are answered, and how well.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answered {
    /// All of them.
    pub rows: usize,
    /// Those that are answered.
    pub answered: usize,
    /// Wrong answers among those; none for regression, where nothing is exactly right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<usize>,
    /// For regression, how far the answers are off.
    #[serde(flatten)]
    pub errors: Option<Errors>,
}

/// How far answered numbers are off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    /// The root mean squared error of all examples.
    pub rmse_of_all: f64,
    /// That of the answered ones; none where nothing is answered.
    pub rmse_of_answered: Option<f64>,
    /// The share of answered ones whose interval holds the truth; none without intervals.
    pub interval_coverage_of_answered: Option<f64>,
}

/// How many examples of an OOD set are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rejected {
    /// The set.
    pub name: String,
    /// All of its examples.
    pub rows: usize,
    /// Those that are rejected.
    pub rejected: usize,
}

impl Evidence {
    /// Whether the model's own decision accepts an example: everything else admits it, and its
    /// uncertainty is at most the threshold.
    pub fn accepts(&self, uncertainty: f64, admitted: bool) -> bool {
        admitted && self.threshold.is_none_or(|threshold| uncertainty <= threshold)
    }

    /// What the model's own decision makes of the examples.
    ///
    /// ```
    /// use sngp_report::evidence::{Evidence, OodSet, Scored};
    ///
    /// let scored = |uncertainty, correct, admitted| {
    ///     Scored { uncertainty, correct, probability: 0.9, admitted }
    /// };
    /// let evidence = Evidence {
    ///     test: vec![scored(0.1, true, true), scored(0.2, false, true), scored(0.1, true, false)],
    ///     ood: vec![0.1, 0.1],
    ///     ood_sets: vec![OodSet { name: "noise".into(), admitted: vec![false, true] }],
    ///     threshold: Some(0.15),
    ///     ..Evidence::default()
    /// };
    /// let found = evidence.at_threshold();
    /// assert_eq!((found.test.answered, found.test.wrong), (1, Some(0)));
    /// // The guard rejects one that is certain.
    /// assert_eq!((found.ood[0].rejected, found.ood[0].rows), (1, 2));
    /// ```
    pub fn at_threshold(&self) -> AtThreshold {
        let rejected = |(name, rows): (&str, Vec<Row>)| Rejected {
            name: name.to_string(),
            rows: rows.len(),
            rejected: rows.iter().filter(|row| !self.accepts_row(row)).count(),
        };
        let shift = self.shift_rows();
        AtThreshold {
            threshold: self.threshold,
            test: self.answered(&self.test_rows()),
            shift: (!shift.is_empty()).then(|| self.answered(&shift)),
            ood: self.ood_rows().into_iter().map(rejected).collect(),
        }
    }

    fn answered(&self, rows: &[Row]) -> Answered {
        let answered: Vec<&Row> = rows.iter().filter(|row| self.accepts_row(row)).collect();
        let wrong = answered.iter().filter(|row| row.wrong).count();
        let root = |losses: f64, count: usize| (count > 0).then(|| (losses / count as f64).sqrt());
        let errors = self.regression.as_ref().map(|regression| Errors {
            rmse_of_all: root(rows.iter().map(|row| row.loss).sum(), rows.len()).unwrap_or(0.0),
            rmse_of_answered: root(answered.iter().map(|row| row.loss).sum(), answered.len()),
            interval_coverage_of_answered: (regression.has_intervals() && !answered.is_empty())
                .then(|| 1.0 - wrong as f64 / answered.len() as f64),
        });
        Answered {
            rows: rows.len(),
            answered: answered.len(),
            wrong: errors.is_none().then_some(wrong),
            errors,
        }
    }

    fn accepts_row(&self, row: &Row) -> bool {
        self.accepts(row.uncertainty, row.admitted)
    }

    /// The test examples, of classes or of numbers.
    pub(super) fn test_rows(&self) -> Vec<Row> {
        match &self.regression {
            Some(regression) => regression.rows.iter().map(Row::of_interval).collect(),
            None => self.test.iter().map(Row::of_scored).collect(),
        }
    }

    /// The shifted examples, of classes or of numbers.
    pub(super) fn shift_rows(&self) -> Vec<Row> {
        match &self.regression {
            Some(regression) => regression.shift.iter().map(Row::of_interval).collect(),
            None => self.shift.iter().map(Row::of_scored).collect(),
        }
    }

    /// The OOD examples, set by set. What no set claims is one without a name.
    pub(super) fn ood_rows(&self) -> Vec<(&str, Vec<Row>)> {
        let mut rest = self.ood.as_slice();
        let mut sets = Vec::new();
        for set in &self.ood_sets {
            let (own, left) = rest.split_at(set.admitted.len().min(rest.len()));
            let rows = own.iter().zip(&set.admitted).map(|(&u, &admitted)| Row::ood(u, admitted));
            sets.push((set.name.as_str(), rows.collect()));
            rest = left;
        }
        if !rest.is_empty() {
            sets.push(("", rest.iter().map(|&uncertainty| Row::ood(uncertainty, true)).collect()));
        }
        sets
    }
}
