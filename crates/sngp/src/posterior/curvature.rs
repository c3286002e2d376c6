//! How strongly each example constrains the posterior.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::predict::{sigmoid, softmax_row};
use crate::{Error, Result};

/// The weight `w_ik` of example `i` in the precision of class `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Curvature {
    /// `p_ik (1 - p_ik)`: one matrix a class, the paper's equation.
    PerClass,
    /// `max_k p_ik (1 - p_ik)`: one matrix.
    SharedMax,
    /// 1: one matrix; right for regression, and what the published results were made with.
    Gaussian,
    /// `p (1 - p)` of the one logit.
    Bernoulli,
    /// `exp(f)` of the one logit.
    Poisson,
}

impl Curvature {
    /// The number of precision matrices for a model with `outputs` logits.
    pub fn matrices(self, outputs: usize) -> usize {
        if self == Self::PerClass { outputs } else { 1 }
    }

    /// The weights `[rows, matrices]` of a batch with the given mean logits `[rows, outputs]`.
    ///
    /// ```
    /// use ndarray::array;
    /// use sngp::posterior::Curvature;
    ///
    /// let weights = Curvature::PerClass.weights(array![[0.0, 0.0]].view())?;
    /// assert_eq!(weights, array![[0.25, 0.25]]);
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn weights(self, logits: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if matches!(self, Self::Bernoulli | Self::Poisson) && logits.ncols() != 1 {
            return Err(Error::shape(
                format!("logits of the {self:?} curvature"),
                1,
                logits.ncols(),
            ));
        }
        let mut weights = Array2::zeros((logits.nrows(), self.matrices(logits.ncols())));
        for (mut row, logits) in weights.axis_iter_mut(Axis(0)).zip(logits.axis_iter(Axis(0))) {
            match self {
                Self::PerClass => row.assign(&Array1::from(softmax_variance(logits))),
                Self::SharedMax => {
                    row[0] = softmax_variance(logits).into_iter().fold(0.0, f64::max);
                }
                Self::Gaussian => row[0] = 1.0,
                Self::Bernoulli => row[0] = sigmoid(logits[0]) * sigmoid(-logits[0]),
                Self::Poisson => row[0] = logits[0].exp(),
            }
        }
        Ok(weights)
    }
}

/// `p_k (1 - p_k)` for every class.
fn softmax_variance(logits: ArrayView1<'_, f64>) -> Vec<f64> {
    softmax_row(logits.iter().copied()).into_iter().map(|p| p * (1.0 - p)).collect()
}
