//! Accuracy.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{ClassificationMetric, input};
use crate::Result;

/// The share of examples whose most probable class is the true one.
///
/// Equal probabilities go to the lowest class.
///
/// ```
/// let probabilities = ndarray::array![[0.9, 0.1], [0.3, 0.7]];
/// assert_eq!(sngp::metrics::accuracy(probabilities.view(), &[0, 0])?, 0.5);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn accuracy(probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
    input::probabilities(probabilities, labels)?;
    let right = probabilities
        .outer_iter()
        .zip(labels)
        .filter(|(row, label)| input::top(row.view()).0 == **label)
        .count();
    Ok(right as f64 / labels.len() as f64)
}

/// [`accuracy`], as an entry of [`Classification`](super::Classification).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accuracy;

impl ClassificationMetric for Accuracy {
    fn summary(&self) -> &'static str {
        "share of examples whose most probable class is the true one"
    }

    fn higher_is_better(&self) -> bool {
        true
    }

    fn evaluate(&self, probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
        accuracy(probabilities, labels)
    }
}
