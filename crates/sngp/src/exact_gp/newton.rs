//! Newton's iteration to the mode of the posterior over the latents.

use faer::{Mat, MatRef};

use super::linalg::product;
use crate::{Error, Result};

/// A full step that changes the objective by less than this is the last one. The error left is
/// of the order of this change, not of its square root: convergence is quadratic.
const TOLERANCE: f64 = 1e-10;
/// The objective is concave and a dozen steps do; more means that something is wrong.
const MAX_STEPS: usize = 100;
const MAX_HALVINGS: usize = 30;

/// A log-concave likelihood of latents `f`, `[n, latents a row]`.
pub(super) trait Likelihood {
    /// The latents of one row.
    fn width(&self) -> usize;

    /// `log p(y|f)`.
    fn log_likelihood(&self, latents: MatRef<f64>) -> f64;

    /// `a = K^-1 f'` for the latents `f'` that a full Newton step from `f` leads to.
    fn newton_weights(&self, kernel: MatRef<f64>, latents: MatRef<f64>) -> Result<Mat<f64>>;
}

/// The latents that maximise `log p(y|f) - f^T K^-1 f / 2`.
///
/// The iteration walks in `a = K^-1 f`, so `K` may be singular.
pub(super) fn mode(kernel: MatRef<f64>, likelihood: &impl Likelihood) -> Result<Mat<f64>> {
    let mut weights = Mat::zeros(kernel.nrows(), likelihood.width());
    let mut latents = weights.clone();
    let objective = |weights: &Mat<f64>, latents: &Mat<f64>| {
        likelihood.log_likelihood(latents.as_ref()) - 0.5 * inner(weights, latents)
    };
    let mut best = objective(&weights, &latents);

    for _ in 0..MAX_STEPS {
        let step = likelihood.newton_weights(kernel, latents.as_ref())? - &weights;
        let change = product(kernel, step.as_ref());
        let (mut scale, mut halvings) = (1.0, 0);
        let gain = loop {
            let next =
                (&weights + faer::Scale(scale) * &step, &latents + faer::Scale(scale) * &change);
            let gain = objective(&next.0, &next.1) - best;
            // Below the tolerance a fall is rounding.
            if gain > -TOLERANCE {
                (weights, latents) = next;
                break gain;
            }
            if halvings == MAX_HALVINGS {
                return Err(failed("no step uphill was found"));
            }
            (scale, halvings) = (0.5 * scale, halvings + 1);
        };
        best += gain;
        if halvings == 0 && gain < TOLERANCE {
            return Ok(latents);
        }
    }
    Err(failed(&format!("still climbing after {MAX_STEPS} steps")))
}

fn failed(reason: &str) -> Error {
    Error::Training(format!(
        "the exact GP did not converge ({reason}); try another length scale, or scale the inputs"
    ))
}

fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (0..a.ncols())
        .flat_map(|column| a.col_as_slice(column).iter().zip(b.col_as_slice(column)))
        .map(|(a, b)| a * b)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parabola, climbed in steps `factor` times too long, or backwards.
    struct Overshooting {
        factor: f64,
    }

    impl Likelihood for Overshooting {
        fn width(&self) -> usize {
            1
        }

        fn log_likelihood(&self, latents: MatRef<f64>) -> f64 {
            -(latents[(0, 0)] - 1.0).powi(2)
        }

        fn newton_weights(&self, _: MatRef<f64>, latents: MatRef<f64>) -> Result<Mat<f64>> {
            // K = 1: the maximum of -(f - 1)^2 - f^2 / 2 is at 2/3.
            let latent = latents[(0, 0)];
            Ok(Mat::from_fn(1, 1, |_, _| latent + self.factor * (2.0 / 3.0 - latent)))
        }
    }

    #[test]
    fn steps_too_long_are_halved() {
        let kernel = Mat::identity(1, 1);
        // From 2 on a step falls; 3 leaves twice the error on the other side.
        for factor in [1.0, 3.0] {
            let mode = mode(kernel.as_ref(), &Overshooting { factor }).unwrap();
            assert!((mode[(0, 0)] - 2.0 / 3.0).abs() < 1e-4);
        }
    }

    #[test]
    fn steps_downhill_are_an_error() {
        let kernel = Mat::identity(1, 1);
        let error = mode(kernel.as_ref(), &Overshooting { factor: -1.0 }).unwrap_err();
        assert!(error.to_string().contains("did not converge"), "{error}");
    }
}
