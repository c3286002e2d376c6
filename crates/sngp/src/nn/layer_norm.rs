//! Layer normalization in one pass, with its residual.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

/// `gamma * (x - mean) / sqrt(variance + epsilon) + beta` of every row.
#[derive(Module, Debug)]
pub struct LayerNorm {
    /// The scale.
    pub gamma: Param<Tensor<1>>,
    /// The shift.
    pub beta: Param<Tensor<1>>,
    epsilon: f64,
}

impl LayerNorm {
    /// A layer that starts with scale one and shift zero.
    pub fn new(width: usize, epsilon: f64, device: &Device) -> Self {
        Self {
            gamma: Param::from_tensor(Tensor::ones([width], device)),
            beta: Param::from_tensor(Tensor::zeros([width], device)),
            epsilon,
        }
    }

    /// Normalizes `input + residual`.
    ///
    /// # Shapes
    /// - input, residual and output: `[.., width]`
    pub fn forward<const D: usize>(
        &self,
        input: Tensor<D>,
        residual: Option<Tensor<D>>,
    ) -> Tensor<D> {
        let (gamma, beta) = (self.gamma.val(), self.beta.val());
        sngp_kernels::layer_norm(input, residual, gamma, beta, self.epsilon)
    }
}
