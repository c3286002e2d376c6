//! Batch normalization of channels-last images, with the activation that follows it.

use std::sync::{Arc, OnceLock};

use burn::tensor::{Tensor, TensorData, activation};
use burn_flex::FlexTensor;

use crate::array::{Array, tensor, uninitialized};
use crate::device::takes;
use crate::normalization::batch_norm::{
    BatchStatistics, Normalization, backward, normalize, scale_and_shift,
};
use crate::op::{Kernel, apply_3};

/// A batch normalized by its own statistics.
#[derive(Clone, Debug)]
pub struct Normalized<const D: usize> {
    /// The output.
    pub output: Tensor<D>,
    /// The mean of every channel.
    pub mean: Tensor<1>,
    /// The variance of every channel, divided by the number of values less one.
    pub variance: Tensor<1>,
}

/// `relu(gamma * (x - mean) / sqrt(variance + epsilon) + beta)` with the batch's own mean and
/// variance of every channel.
///
/// # Shapes
/// - input and output: `[.., channels]`; gamma and beta: `[channels]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let device = Device::flex();
/// let (one, zero) = (Tensor::ones([1], &device), Tensor::zeros([1], &device));
/// let x = Tensor::<2>::from_floats([[1.0], [3.0]], &device);
/// let normalized = sngp_kernels::batch_norm_relu(x, one, zero, 0.0);
/// assert_eq!(normalized.output.into_data(), [[0.0f32], [1.0]].into());
/// assert_eq!(normalized.variance.into_scalar::<f32>(), 2.0);
/// ```
pub fn batch_norm_relu<const D: usize>(
    input: Tensor<D>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    epsilon: f64,
) -> Normalized<D> {
    let channels = [input.dims()[D - 1]];
    let fits = gamma.dims() == channels && beta.dims() == channels;
    if !(fits && takes(&input) && takes(&gamma) && takes(&beta)) {
        return batch_norm_relu_reference(input, gamma, beta, epsilon);
    }
    let device = input.device().without_autodiff();
    let statistics = Arc::new(OnceLock::new());
    let kernel = BatchNorm { epsilon: epsilon as f32, statistics: statistics.clone() };
    let output = apply_3(kernel, input, gamma, beta);
    let statistics = statistics.get_or_init(|| BatchStatistics::new(&[], channels[0]));
    let vector =
        |values: Vec<f32>| Tensor::from_data(TensorData::new(values, [channels[0]]), &device);
    Normalized {
        output,
        mean: vector(statistics.mean.clone()),
        variance: vector(statistics.unbiased_variance()),
    }
}

/// The same in Burn's own ops, for every other device.
pub fn batch_norm_relu_reference<const D: usize>(
    input: Tensor<D>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    epsilon: f64,
) -> Normalized<D> {
    let shape = input.dims();
    let channels = shape[D - 1];
    let rows = shape[..D - 1].iter().product::<usize>();
    let flat = input.reshape([rows, channels]);
    let (variance, mean) = flat.clone().var_mean_bias(0);
    let normalized = (flat - mean.clone()) / (variance.clone() + epsilon).sqrt();
    let output = activation::relu(normalized * gamma.unsqueeze() + beta.unsqueeze());
    let unbiased = variance * (rows as f64 / rows.saturating_sub(1).max(1) as f64);
    Normalized {
        output: output.reshape(shape),
        mean: mean.inner().reshape([channels]),
        variance: unbiased.inner().reshape([channels]),
    }
}

/// `relu(x * scale + shift)` of every channel: batch normalization by known statistics.
///
/// # Shapes
/// - input and output: `[.., channels]`; scale and shift: `[channels]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let device = Device::flex();
/// let x = Tensor::<2>::from_floats([[1.0], [-3.0]], &device);
/// let (scale, shift) = (Tensor::full([1], 2.0, &device), Tensor::ones([1], &device));
/// let y = sngp_kernels::scale_shift_relu(x, scale, shift);
/// assert_eq!(y.into_data(), [[3.0f32], [0.0]].into());
/// ```
pub fn scale_shift_relu<const D: usize>(
    input: Tensor<D>,
    scale: Tensor<1>,
    shift: Tensor<1>,
) -> Tensor<D> {
    let channels = [input.dims()[D - 1]];
    let fits = scale.dims() == channels && shift.dims() == channels;
    let tracked = input.is_tracked() || scale.is_tracked() || shift.is_tracked();
    if tracked || !(fits && takes(&input) && takes(&scale)) {
        return activation::relu(input * scale.unsqueeze() + shift.unsqueeze());
    }
    apply_3(ScaleShift, input, scale, shift)
}

/// Inputs: input, gamma, beta.
#[derive(Debug)]
struct BatchNorm {
    epsilon: f32,
    /// Where the forward pass leaves what the running averages need.
    statistics: Arc<OnceLock<BatchStatistics>>,
}

impl Kernel for BatchNorm {
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let [input, gamma, beta] = inputs else { unreachable!("three inputs") };
        let channels = gamma.len();
        let statistics = BatchStatistics::new(input, channels);
        let inverse_deviation = statistics.inverse_deviation(self.epsilon);
        let by = Normalization {
            mean: &statistics.mean,
            inverse_deviation: &inverse_deviation,
            gamma,
            beta,
            relu: true,
        };
        let mut out = uninitialized(input.len());
        normalize(input, &by, &mut out);
        let kept = match keep {
            true => vec![
                input.tensor().clone(),
                gamma.tensor().clone(),
                beta.tensor().clone(),
                tensor(statistics.mean.clone(), [channels]),
                tensor(inverse_deviation, [channels]),
            ],
            false => Vec::new(),
        };
        // A second forward pass of one kernel does not happen.
        let _ = self.statistics.set(statistics);
        (tensor(out, input.shape().clone()), kept)
    }

    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        _wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        let [input, gamma, beta, mean, inverse_deviation] = kept else {
            unreachable!("what forward kept")
        };
        let by = Normalization { mean, inverse_deviation, gamma, beta, relu: true };
        let mut out = uninitialized(input.len());
        let parameters = backward(input, gradient, &by, &mut out);
        let channels = [gamma.len()];
        vec![
            Some(tensor(out, input.shape().clone())),
            Some(tensor(parameters.gamma, channels)),
            Some(tensor(parameters.beta, channels)),
        ]
    }
}

/// Inputs: input, scale, shift.
#[derive(Debug)]
struct ScaleShift;

impl Kernel for ScaleShift {
    fn forward(&self, inputs: &[Array], _keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let [input, scale, shift] = inputs else { unreachable!("three inputs") };
        let mut out = uninitialized(input.len());
        scale_and_shift(input, scale, shift, true, &mut out);
        (tensor(out, input.shape().clone()), Vec::new())
    }

    fn backward(
        &self,
        _kept: &[Array],
        _gradient: &Array,
        _wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        unreachable!("a tracked one takes Burn's own ops")
    }
}
