//! When a prediction is accepted.

use serde::{Deserialize, Serialize};

use crate::metrics::conformal_quantile;
use crate::predict::Prediction;
use crate::score::Score;
use crate::{Error, Result};

/// A rule saved with a model: what is more uncertain than the threshold is rejected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The score that is compared.
    pub score: Score,
    /// The largest uncertainty that is accepted.
    pub threshold: f64,
    /// Where the threshold comes from, in words.
    pub basis: String,
    /// What every accepted input has to meet beside: a rule that is chosen by errors alone says
    /// nothing about inputs far from all data, where the model may be wrong with certainty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<Condition>,
    /// The largest uncertainty that is accepted of each class that is predicted, none for a class
    /// that nothing is answered as; empty where one threshold is for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_class: Vec<Option<f64>>,
}

/// One more condition of a [`Decision`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The score that is compared.
    pub score: Score,
    /// The largest value that is accepted.
    pub threshold: f64,
    /// Where the threshold comes from, in words.
    pub basis: String,
}

impl Condition {
    /// Which rows meet it. What cannot be computed does not.
    pub fn holds(&self, prediction: &Prediction) -> Vec<bool> {
        match self.score.evaluate(prediction) {
            Ok(values) => values.iter().map(|value| *value <= self.threshold).collect(),
            Err(_) => vec![false; prediction.rows()],
        }
    }
}

impl Decision {
    /// The rule that rejects at most a share, on average, of examples like the held-out ones,
    /// whose uncertainties are given: the `ceil((n + 1) (1 - share))`-th smallest of them. This is
    /// split conformal prediction, valid for any n as long as nothing else was chosen by the same
    /// examples. What another rule rejects in any case has an infinite uncertainty.
    ///
    /// ```
    /// use sngp::model::Decision;
    /// use sngp::score::{Score, Variance};
    ///
    /// let held_out: Vec<f64> = (0..99).map(f64::from).collect();
    /// let rule = Decision::rejecting_at_most(0.05, Score::from(Variance {}), &held_out)?;
    /// assert_eq!(rule.threshold, 94.0);
    /// assert!(rule.accepts(94.0) && !rule.accepts(94.5) && !rule.accepts(f64::NAN));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn rejecting_at_most(share: f64, score: Score, held_out: &[f64]) -> Result<Self> {
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::config("the share rejected", share, "it must be in (0, 1)"));
        }
        let rows = held_out.len();
        let Some(threshold) = conformal_quantile(held_out, 1.0 - share)? else {
            return Err(Error::Data(format!(
                "with {rows} held-out examples a share of at least {:.4} is rejected; \
                 {share} needs more of them",
                1.0 / (rows + 1) as f64
            )));
        };
        if threshold == f64::INFINITY {
            return Err(Error::Data(format!(
                "more than {} % of the held-out examples are rejected in any case: they have no \
                 computable uncertainty or are far from the training data",
                percent(share)
            )));
        }
        let basis = format!(
            "on average at most {} % of examples like the {rows} held-out ones are rejected",
            percent(share)
        );
        Ok(Self::at(threshold, score, basis))
    }

    /// The rule of one threshold and nothing else.
    pub fn at(threshold: f64, score: Score, basis: String) -> Self {
        Self { score, threshold, basis, distance: None, by_class: Vec::new() }
    }

    /// Whether a prediction of this uncertainty is accepted, as far as the first rule goes. What
    /// is no number is not.
    pub fn accepts(&self, uncertainty: f64) -> bool {
        uncertainty <= self.threshold
    }

    /// The same of a prediction of a class.
    ///
    /// ```
    /// use sngp::model::Decision;
    /// use sngp::score::{Score, Variance};
    ///
    /// let rule = Decision::at(0.5, Score::from(Variance {}), String::new());
    /// assert!(rule.accepts_as(0.4, 1));
    /// let rule = Decision { by_class: vec![Some(0.5), Some(0.3), None], ..rule };
    /// assert!(rule.accepts_as(0.4, 0) && !rule.accepts_as(0.4, 1) && !rule.accepts_as(0.0, 2));
    /// ```
    pub fn accepts_as(&self, uncertainty: f64, class: usize) -> bool {
        let own = match self.by_class.as_slice() {
            [] => true,
            classes => {
                let limit = classes.get(class).copied().flatten();
                limit.is_some_and(|limit| uncertainty <= limit)
            }
        };
        own && self.accepts(uncertainty)
    }
}

/// A share in percent, without digits that are not there: 2.51, not 2.5100000000000002.
///
/// ```
/// assert_eq!(sngp::model::percent(0.0251), "2.51");
/// assert_eq!(sngp::model::percent(0.05), "5");
/// ```
pub fn percent(share: f64) -> String {
    let text = format!("{:.4}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
