//! Area under the receiver operating characteristic.

use serde::{Deserialize, Serialize};

use super::{DetectionMetric, detection_curve};
use crate::Result;

/// The chance that an OOD input scores higher than an in-distribution one, ties counted half.
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
    Ok(detection_curve(scores, is_ood)?.auroc())
}

/// [`auroc`], as an entry of [`Detection`](super::Detection).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Auroc;

impl DetectionMetric for Auroc {
    fn summary(&self) -> &'static str {
        "chance that an OOD input scores above an in-distribution one"
    }

    fn higher_is_better(&self) -> bool {
        true
    }

    fn evaluate(&self, scores: &[f64], is_ood: &[bool]) -> Result<f64> {
        auroc(scores, is_ood)
    }
}
