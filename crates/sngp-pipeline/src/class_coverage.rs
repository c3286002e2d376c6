//! What a threshold means for each class.

use serde::Serialize;
use sngp::model::Outcome;

/// How the rows of one class fare under a threshold for all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassCoverage {
    /// The class.
    pub label: String,
    /// Rows of it.
    pub rows: usize,
    /// Those that are accepted.
    pub accepted: usize,
    /// Wrong answers among the accepted ones.
    pub wrong: usize,
    /// The share that is accepted.
    pub coverage: f64,
    /// The least threshold that would accept as large a share of this class as is accepted of all
    /// rows: far above the common one for a class that is mostly rejected. None where other rules
    /// reject too much of it for that.
    pub threshold: Option<f64>,
}

/// What a threshold means for each class that has rows. A row that is rejected in any case has an
/// infinite uncertainty.
///
/// ```
/// use sngp::model::Outcome;
/// use sngp_pipeline::calibrate::class_coverage;
///
/// let outcome = |uncertainty| Outcome { uncertainty, correct: true };
/// let outcomes = [0.1, 0.2, 0.3, 0.6].map(outcome);
/// let classes = class_coverage(&["ash".into(), "birch".into()], &[0, 0, 0, 1], &outcomes, 0.5);
/// assert_eq!((classes[0].accepted, classes[1].accepted), (3, 0));
/// assert_eq!(classes[1].threshold, Some(0.6));
/// ```
pub fn class_coverage(
    labels: &[String],
    classes: &[usize],
    outcomes: &[Outcome],
    threshold: f64,
) -> Vec<ClassCoverage> {
    let accepts = |outcome: &&&Outcome| outcome.uncertainty <= threshold;
    let all: Vec<&Outcome> = outcomes.iter().collect();
    let share = all.iter().filter(accepts).count() as f64 / all.len().max(1) as f64;
    let mut own: Vec<Vec<&Outcome>> = vec![Vec::new(); labels.len()];
    classes.iter().zip(outcomes).for_each(|(&class, outcome)| own[class].push(outcome));
    let row = |(label, mut own): (&String, Vec<&Outcome>)| {
        own.sort_by(|a, b| a.uncertainty.total_cmp(&b.uncertainty));
        let accepted: Vec<&&Outcome> = own.iter().filter(accepts).collect();
        let needed = (share * own.len() as f64).ceil() as usize;
        let reached = needed.checked_sub(1).map(|last| own[last].uncertainty);
        ClassCoverage {
            label: label.clone(),
            rows: own.len(),
            accepted: accepted.len(),
            wrong: accepted.iter().filter(|outcome| !outcome.correct).count(),
            coverage: accepted.len() as f64 / own.len() as f64,
            threshold: reached.filter(|uncertainty| uncertainty.is_finite()),
        }
    };
    labels.iter().zip(own).filter(|(_, own)| !own.is_empty()).map(row).collect()
}
