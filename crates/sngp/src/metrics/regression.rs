//! Regression: error and likelihood of real-valued predictions.

use std::f64::consts::TAU;

use super::input;
use crate::{Error, Result};

/// Root mean squared error.
///
/// ```
/// assert_eq!(sngp::metrics::rmse(&[1.0, 2.0], &[4.0, 6.0])?, 12.5f64.sqrt());
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn rmse(mean: &[f64], target: &[f64]) -> Result<f64> {
    check(mean, target)?;
    let squares = mean.iter().zip(target).map(|(mean, target)| (target - mean).powi(2));
    representable("rmse", (squares.sum::<f64>() / mean.len() as f64).sqrt())
}

/// The mean of `-ln N(target; mean, variance)`, that is
/// `(ln(2 pi variance) + (target - mean)^2 / variance) / 2`.
///
/// The variance is that of the *target*: the model's own plus the noise. It has to be positive.
///
/// ```
/// let nll = sngp::metrics::gaussian_nll(&[0.0], &[1.0], &[0.0])?;
/// assert!((nll - 0.5 * std::f64::consts::TAU.ln()).abs() < 1e-12);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn gaussian_nll(mean: &[f64], variance: &[f64], target: &[f64]) -> Result<f64> {
    check(mean, target)?;
    input::finite("variance", variance)?;
    input::same_length("variance", variance.len(), "the means", mean.len())?;
    if let Some(index) = variance.iter().position(|&variance| variance <= 0.0) {
        return Err(Error::Data(format!(
            "variance[{index}] is {}, but has to be positive; add the noise variance of the targets",
            variance[index]
        )));
    }
    let total: f64 = mean
        .iter()
        .zip(variance)
        .zip(target)
        // The logarithms are taken apart because the product can overflow.
        .map(|((mean, variance), target)| {
            0.5 * (TAU.ln() + variance.ln() + (target - mean).powi(2) / variance)
        })
        .sum();
    representable("gaussian_nll", total / mean.len() as f64)
}

fn check(mean: &[f64], target: &[f64]) -> Result<()> {
    input::finite("mean", mean)?;
    input::finite("target", target)?;
    input::same_length("target", target.len(), "the means", mean.len())
}

/// Squares of finite numbers can overflow.
fn representable(what: &str, value: f64) -> Result<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(Error::Data(format!("{what} is too large for a number; standardize the targets first")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_is_an_error() {
        assert!(rmse(&[], &[]).is_err());
        assert!(rmse(&[1.0], &[1.0, 2.0]).is_err());
        assert!(rmse(&[f64::NAN], &[1.0]).is_err());
        assert!(rmse(&[1.0], &[f64::INFINITY]).is_err());
        assert!(rmse(&[1e300], &[-1e300]).is_err());
        assert!(gaussian_nll(&[1.0], &[1.0, 1.0], &[1.0]).is_err());
        assert!(gaussian_nll(&[1.0], &[f64::NAN], &[1.0]).is_err());
        let error = gaussian_nll(&[1.0], &[0.0], &[1.0]).unwrap_err().to_string();
        assert!(error.contains("variance[0] is 0") && error.contains("noise"), "{error}");
    }

    #[test]
    fn the_likelihood_is_best_at_the_true_variance() {
        let at = |variance| gaussian_nll(&[0.0, 0.0], &[variance; 2], &[1.5, -1.5]).unwrap();
        assert!(at(2.25) < at(2.0) && at(2.25) < at(2.5));
        assert!(at(f64::MAX).is_finite());
    }
}
