//! How the expectation over the logits' posterior is taken.

use ndarray::{Array2, ArrayView2, Axis};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use super::softmax_in_place;
use crate::seed::{Purpose, stream};
use crate::{Error, Result};

/// How `E softmax(m)`, `m_k ~ N(g_k, v_k)`, is computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Integration {
    /// `softmax(g_k / sqrt(1 + factor v_k))`: deterministic, the default.
    MeanField {
        /// The factor `lambda`; `pi / 8` matches the logistic function's slope.
        factor: f64,
    },
    /// Draws from the posterior, independent per class. Every row sees the same standard normal
    /// draws, so that its result does not depend on the batch it comes in.
    MonteCarlo {
        /// How many draws.
        samples: usize,
        /// The seed of the draws.
        seed: u64,
    },
    /// Gauss-Hermite quadrature, for models with one logit.
    Quadrature {
        /// How many nodes.
        points: usize,
    },
}

impl Default for Integration {
    fn default() -> Self {
        Self::MeanField { factor: std::f64::consts::FRAC_PI_8 }
    }
}

impl Integration {
    /// Refuses options outside their range.
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::MeanField { factor } if !(factor.is_finite() && factor >= 0.0) => {
                Err(Error::config("the mean-field factor", factor, "it must not be negative"))
            }
            Self::MonteCarlo { samples: 0, .. } => {
                Err(Error::config("Monte Carlo samples", 0, "at least one is needed"))
            }
            Self::Quadrature { points } if !(1..=100).contains(&points) => {
                Err(Error::config("quadrature points", points, "it must be from 1 to 100"))
            }
            _ => Ok(()),
        }
    }

    /// The mean-field factor, also for the adjusted logits that scores use.
    pub fn mean_field_factor(&self) -> f64 {
        match self {
            Self::MeanField { factor } => *factor,
            _ => std::f64::consts::FRAC_PI_8,
        }
    }

    /// `E softmax` for mean logits `[rows, classes]` and variances `[rows, classes or 1]`.
    ///
    /// ```
    /// use ndarray::array;
    /// use sngp::predict::Integration;
    ///
    /// let sure = Integration::default().softmax(array![[2.0, 0.0]].view(), Some(array![[0.0]].view()))?;
    /// let unsure = Integration::default().softmax(array![[2.0, 0.0]].view(), Some(array![[9.0]].view()))?;
    /// assert!(sure[[0, 0]] > unsure[[0, 0]]);
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn softmax(
        &self,
        logits: ArrayView2<'_, f64>,
        variance: Option<ArrayView2<'_, f64>>,
    ) -> Result<Array2<f64>> {
        self.check()?;
        let Some(variance) = variance else { return Ok(softmax(logits)) };
        check_variance(logits, variance)?;
        match *self {
            Self::MeanField { factor } => {
                Ok(softmax(adjusted_logits(logits, variance, factor).view()))
            }
            Self::MonteCarlo { samples, seed } => {
                let classes = logits.ncols();
                let mut rng = stream(seed, Purpose::MonteCarlo, 0);
                let mut mean = Array2::zeros(logits.raw_dim());
                let deviation = variance.mapv(f64::sqrt);
                for _ in 0..samples {
                    let draw: Vec<f64> = (0..classes).map(|_| rng.sample(StandardNormal)).collect();
                    let sampled = Array2::from_shape_fn(logits.raw_dim(), |(i, k)| {
                        logits[[i, k]] + deviation[[i, k.min(deviation.ncols() - 1)]] * draw[k]
                    });
                    mean += &softmax(sampled.view());
                }
                Ok(mean / samples as f64)
            }
            Self::Quadrature { .. } => Err(Error::Unsupported(
                "quadrature integrates over one logit; use mean_field or monte_carlo for softmax"
                    .to_string(),
            )),
        }
    }
}

/// Refuses a variance that is neither one column nor one a logit.
pub(crate) fn check_variance(
    logits: ArrayView2<'_, f64>,
    variance: ArrayView2<'_, f64>,
) -> Result<()> {
    let fits = variance.nrows() == logits.nrows()
        && (variance.ncols() == 1 || variance.ncols() == logits.ncols());
    if fits {
        return Ok(());
    }
    Err(Error::shape(
        "the variance of the logits",
        format!("{0} x 1 or {0} x {1}", logits.nrows(), logits.ncols()),
        format!("{} x {}", variance.nrows(), variance.ncols()),
    ))
}

/// `g_k / sqrt(1 + factor v_k)`.
pub(crate) fn adjusted_logits(
    logits: ArrayView2<'_, f64>,
    variance: ArrayView2<'_, f64>,
    factor: f64,
) -> Array2<f64> {
    let mut adjusted = logits.to_owned();
    let rows = adjusted.axis_iter_mut(Axis(0)).zip(variance.axis_iter(Axis(0)));
    for (mut row, variance) in rows {
        let scale = |variance: f64| (1.0 + factor * variance).sqrt();
        match variance.len() {
            1 => row /= scale(variance[0]),
            _ => row.zip_mut_with(&variance, |logit, &variance| *logit /= scale(variance)),
        }
    }
    adjusted
}

fn softmax(logits: ArrayView2<'_, f64>) -> Array2<f64> {
    // A copy keeps the layout of what it is copied from, and that may be any.
    let mut probabilities = logits.as_standard_layout().into_owned();
    for mut row in probabilities.axis_iter_mut(Axis(0)) {
        let row = row.as_slice_mut().expect("a row in standard layout lies in one piece");
        softmax_in_place(row);
    }
    probabilities
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn logits_may_lie_in_any_order() {
        let logits = array![[1.0, 2.0, 3.0], [0.0, -1.0, 4.0]];
        let columns = logits.t().as_standard_layout().into_owned();
        assert_eq!(softmax(columns.t()), softmax(logits.view()));
    }
}
