//! Brier score.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{ClassificationMetric, input};
use crate::Result;

/// The mean over examples of `sum_k (p_k - [k = label])^2`.
///
/// It is the sum over classes, from 0 (sure and right) to 2 (sure and wrong); some texts divide
/// it by the number of classes.
///
/// ```
/// assert_eq!(sngp::metrics::brier(ndarray::array![[0.5, 0.5]].view(), &[1])?, 0.5);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn brier(probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
    input::probabilities(probabilities, labels)?;
    let total: f64 = probabilities
        .indexed_iter()
        .map(|((row, class), &probability)| {
            let truth = if labels[row] == class { 1.0 } else { 0.0 };
            (probability - truth).powi(2)
        })
        .sum();
    Ok(total / labels.len() as f64)
}

/// [`brier`], as an entry of [`Classification`](super::Classification).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Brier;

impl ClassificationMetric for Brier {
    fn summary(&self) -> &'static str {
        "squared distance of the probabilities from the truth, summed over classes"
    }

    fn higher_is_better(&self) -> bool {
        false
    }

    fn evaluate(&self, probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
        brier(probabilities, labels)
    }
}
