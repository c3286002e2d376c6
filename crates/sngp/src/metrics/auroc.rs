//! Area under the receiver operating characteristic.

use serde::{Deserialize, Serialize};

use super::{DetectionMetric, sweep::Sweep};
use crate::Result;

/// The chance that an out-of-domain input scores higher than an in-domain one, ties counted half.
///
/// Constant scores give 0.5, a perfect detector 1.
///
/// ```
/// use sngp::metrics::auroc;
///
/// assert_eq!(auroc(&[0.1, 0.3, 0.2, 0.9], &[false, false, true, true])?, 0.75);
/// assert_eq!(auroc(&[0.5, 0.5], &[false, true])?, 0.5);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn auroc(scores: &[f64], is_ood: &[bool]) -> Result<f64> {
    let sweep = Sweep::new(scores, is_ood)?;
    // Each in-domain input newly flagged lost against those flagged before it and drew with those
    // flagged along with it: the trapezoid rule, whose slanted sides count ties half.
    let won: f64 = sweep
        .pairs()
        .map(|(before, now)| {
            (now.false_positives - before.false_positives)
                * (now.true_positives + before.true_positives)
                / 2.0
        })
        .sum();
    Ok(won / (sweep.positives as f64 * sweep.negatives as f64))
}

/// [`auroc`], as an entry of [`Detection`](super::Detection).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Auroc;

impl DetectionMetric for Auroc {
    fn summary(&self) -> &'static str {
        "chance that an out-of-domain input scores above an in-domain one"
    }

    fn higher_is_better(&self) -> bool {
        true
    }

    fn evaluate(&self, scores: &[f64], is_ood: &[bool]) -> Result<f64> {
        auroc(scores, is_ood)
    }
}
