//! Building Burn's dense layer from given weights.

use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::Tensor;
use burn::tensor::{Device, TensorData};
use ndarray::ArrayView2;

/// A dense layer `x W + b` from weights `[inputs, outputs]` and an optional bias.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use ndarray::array;
///
/// let device = Device::flex();
/// let layer = sngp::nn::linear(array![[1.0], [2.0]].view(), Some(&[0.5]), &device);
/// let y = layer.forward(Tensor::<2>::from_floats([[3.0, 4.0]], &device));
/// assert_eq!(y.into_scalar::<f32>(), 11.5);
/// ```
pub fn linear(weight: ArrayView2<'_, f32>, bias: Option<&[f32]>, device: &Device) -> Linear {
    Linear {
        weight: Param::from_tensor(matrix(weight, device)),
        bias: bias.map(|bias| Param::from_data(TensorData::from(bias), device)),
    }
}

/// A device matrix from a host one.
pub(crate) fn matrix(values: ArrayView2<'_, f32>, device: &Device) -> Tensor<2> {
    let shape = [values.nrows(), values.ncols()];
    Tensor::from_data(TensorData::new(values.iter().copied().collect::<Vec<_>>(), shape), device)
}
