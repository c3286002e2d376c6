//! False alarms at a given detection rate.

use serde::{Deserialize, Serialize};

use super::{DetectionMetric, detection_curve, input};
use crate::Result;

/// The share of in-distribution inputs that is flagged when at least `tpr` (above 0, at most 1) of the
/// OOD ones are.
///
/// The threshold is the highest score that reaches `tpr`; tied scores are flagged together, so
/// constant scores give 1. Nothing is interpolated.
///
/// ```
/// use sngp::metrics::fpr_at_tpr;
///
/// assert_eq!(fpr_at_tpr(&[0.9, 0.2, 0.3, 0.1], &[true, true, false, false], 0.95)?, 0.5);
/// assert_eq!(fpr_at_tpr(&[0.9, 0.2, 0.3, 0.1], &[true, true, false, false], 0.5)?, 0.0);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn fpr_at_tpr(scores: &[f64], is_ood: &[bool], tpr: f64) -> Result<f64> {
    input::fraction("tpr", tpr)?;
    let curve = detection_curve(scores, is_ood)?;
    let needed = input::fewest(tpr, curve.positives) as f64;
    let missed = curve.steps.partition_point(|flagged| flagged.true_positives < needed);
    // The last step flags everything, so `missed` is always a step.
    Ok(curve.steps[missed].false_positives / curve.negatives as f64)
}

/// [`fpr_at_tpr`] at 0.95, as an entry of [`Detection`](super::Detection).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FprAt95Tpr;

impl DetectionMetric for FprAt95Tpr {
    fn summary(&self) -> &'static str {
        "share of in-distribution inputs flagged when 95 % of OOD ones are"
    }

    fn higher_is_better(&self) -> bool {
        false
    }

    fn evaluate(&self, scores: &[f64], is_ood: &[bool]) -> Result<f64> {
        fpr_at_tpr(scores, is_ood, 0.95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_95_percent_is_enough() {
        // 19 of 20 positives lie above the only negative, the last one below.
        let scores: Vec<f64> = (0..21).map(f64::from).collect();
        let is_ood: Vec<bool> = (0..21).map(|score| score != 1).collect();
        assert_eq!(fpr_at_tpr(&scores, &is_ood, 0.95).unwrap(), 0.0);
        assert_eq!(fpr_at_tpr(&scores, &is_ood, 0.96).unwrap(), 1.0);
    }

    #[test]
    fn constant_scores_flag_everything() {
        assert_eq!(fpr_at_tpr(&[0.5; 3], &[true, false, false], 0.95).unwrap(), 1.0);
    }

    #[test]
    fn the_rate_has_to_be_a_rate() {
        for tpr in [0.0, 1.5, f64::NAN] {
            assert!(fpr_at_tpr(&[0.1, 0.2], &[false, true], tpr).is_err(), "{tpr}");
        }
    }
}
