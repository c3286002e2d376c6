//! Building Burn's dense layer from given weights.

use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::Tensor;
use burn::tensor::{Device, TensorData};
use ndarray::ArrayView2;
use sngp_kernels::{Activation, Prepared};

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

/// `residual + activation(x W + b)` of Burn's dense layer, in one pass.
pub(crate) fn dense<const D: usize>(
    layer: &Linear,
    input: Tensor<D>,
    activation: Activation,
    residual: Option<Tensor<D>>,
) -> Tensor<D> {
    let bias = layer.bias.as_ref().map(Param::val);
    sngp_kernels::linear(input, layer.weight.val(), bias, activation, residual, None)
}

/// A dense layer for networks that predict a few rows at a time: it keeps its weight packed
/// between predictions.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Tensor};
/// use sngp::nn::{Activation, Dense};
///
/// let device = Device::flex();
/// let layer = Dense::from(LinearConfig::new(3, 2).init(&device));
/// let x = Tensor::<2>::ones([1, 3], &device);
/// let y = layer.forward(x.clone(), Activation::Identity, None);
/// assert_eq!(y.dims(), [1, 2]);
/// ```
#[derive(Module, Debug)]
pub struct Dense {
    /// The parameters.
    pub linear: Linear,
    #[module(skip)]
    prepared: Prepared,
}

impl From<Linear> for Dense {
    fn from(linear: Linear) -> Self {
        Self { linear, prepared: Prepared::default() }
    }
}

impl Dense {
    /// A layer with Burn's initialization.
    pub fn new(inputs: usize, outputs: usize, device: &Device) -> Self {
        LinearConfig::new(inputs, outputs).init(device).into()
    }

    /// `residual + activation(x W + b)`.
    ///
    /// # Shapes
    /// - input: `[.., inputs]`; residual and output: `[.., outputs]`
    pub fn forward<const D: usize>(
        &self,
        input: Tensor<D>,
        activation: Activation,
        residual: Option<Tensor<D>>,
    ) -> Tensor<D> {
        let Linear { weight, bias } = &self.linear;
        let bias = bias.as_ref().map(Param::val);
        sngp_kernels::linear(input, weight.val(), bias, activation, residual, Some(&self.prepared))
    }
}
