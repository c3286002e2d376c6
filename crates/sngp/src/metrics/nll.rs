//! Negative log-likelihood.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{ClassificationMetric, input};
use crate::Result;

/// The mean of `-ln p(true class)`.
///
/// Probabilities are clipped below at the smallest positive normal f64, so that a class declared
/// impossible that happens nevertheless costs `-ln(2.2e-308)`, about 708, and not infinity: one
/// such example shows in the mean without erasing all the others.
///
/// ```
/// let nll = sngp::metrics::nll(ndarray::array![[0.5, 0.5]].view(), &[1])?;
/// assert!((nll - 2f64.ln()).abs() < 1e-12);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn nll(probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
    input::probabilities(probabilities, labels)?;
    let total: f64 = probabilities
        .outer_iter()
        .zip(labels)
        // ln(1/p) and not -ln(p), which would print a perfect score as -0.
        .map(|(row, &label)| row[label].clamp(f64::MIN_POSITIVE, 1.0).recip().ln())
        .sum();
    Ok(total / labels.len() as f64)
}

/// [`nll`], as an entry of [`Classification`](super::Classification).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Nll;

impl ClassificationMetric for Nll {
    fn summary(&self) -> &'static str {
        "mean negative log-likelihood of the true class (natural log)"
    }

    fn higher_is_better(&self) -> bool {
        false
    }

    fn evaluate(&self, probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
        nll(probabilities, labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_class_costs_a_lot_but_not_everything() {
        let value = nll(ndarray::array![[1.0, 0.0]].view(), &[1]).unwrap();
        assert!((value - 708.396).abs() < 1e-3, "{value}");
    }

    #[test]
    fn a_perfect_score_is_a_plain_zero() {
        let value = nll(ndarray::array![[1.0, 0.0]].view(), &[0]).unwrap();
        assert_eq!(value.to_string(), "0");
    }
}
