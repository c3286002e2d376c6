//! Area under the precision-recall curve, as average precision.

use serde::{Deserialize, Serialize};

use super::{DetectionMetric, detection_curve};
use crate::Result;

/// `sum_i (recall_i - recall_(i-1)) precision_i` over the distinct scores, from the highest down.
///
/// This is the step sum; joining the points by straight lines would be too optimistic. Constant
/// scores give the share of OOD inputs, which is the baseline to beat.
///
/// ```
/// use sngp::metrics::average_precision;
///
/// assert_eq!(average_precision(&[0.9, 0.8, 0.1], &[true, false, false])?, 1.0);
/// assert_eq!(average_precision(&[0.5; 4], &[true, false, false, false])?, 0.25);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn average_precision(scores: &[f64], is_ood: &[bool]) -> Result<f64> {
    Ok(detection_curve(scores, is_ood)?.average_precision())
}

/// [`average_precision`], as an entry of [`Detection`](super::Detection).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Aupr;

impl DetectionMetric for Aupr {
    fn summary(&self) -> &'static str {
        "average precision of flagging OOD inputs"
    }

    fn higher_is_better(&self) -> bool {
        true
    }

    fn evaluate(&self, scores: &[f64], is_ood: &[bool]) -> Result<f64> {
        average_precision(scores, is_ood)
    }
}
