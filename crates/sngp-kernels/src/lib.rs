//! CPU kernels of sngp.
//!
//! Every operation the library wants faster than Burn's own lives here as one function on
//! tensors, so that a fused version behind Burn's backend extension can take its place without a
//! change elsewhere. On any device without such a version the function is Burn's own ops: what
//! stands here today is that fall-back, and the reference that fused kernels are checked against.
#![warn(missing_docs)]

use burn::tensor::Tensor;

/// Random Fourier features `scale * cos(input weight + bias)`.
///
/// # Shapes
/// - input: `[rows, inputs]`, weight: `[inputs, features]`, bias: `[features]`
/// - output: `[rows, features]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let device = Device::flex();
/// let phi = sngp_kernels::random_features(
///     Tensor::from_floats([[0.0]], &device),
///     Tensor::from_floats([[1.0]], &device),
///     Tensor::from_floats([0.0], &device),
///     2.0,
/// );
/// assert_eq!(phi.into_scalar::<f32>(), 2.0);
/// ```
pub fn random_features(
    input: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    scale: f64,
) -> Tensor<2> {
    (input.matmul(weight) + bias.unsqueeze()).cos() * scale
}
