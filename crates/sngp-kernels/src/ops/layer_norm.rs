//! Layer normalization, with the residual that usually goes into it.

use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use crate::array::{Array, tensor, uninitialized};
use crate::device::takes;
use crate::normalization::{layer_norm as forward_rows, layer_norm_backward};
use crate::op::{Kernel, apply_3, apply_4};

/// `gamma * (x - mean) / sqrt(variance + epsilon) + beta` of every row, with
/// `x = input + residual`.
///
/// # Shapes
/// - input, residual and output: `[.., width]`; gamma and beta: `[width]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let device = Device::flex();
/// let (one, zero) = (Tensor::ones([2], &device), Tensor::zeros([2], &device));
/// let x = Tensor::<2>::from_floats([[1.0, 3.0]], &device);
/// let y = sngp_kernels::layer_norm(x, None, one, zero, 0.0);
/// assert_eq!(y.into_data(), [[-1.0f32, 1.0]].into());
/// ```
pub fn layer_norm<const D: usize>(
    input: Tensor<D>,
    residual: Option<Tensor<D>>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    let width = [input.dims()[D - 1]];
    let fits = gamma.dims() == width
        && beta.dims() == width
        && residual.as_ref().is_none_or(|residual| residual.dims() == input.dims());
    if !(fits && takes(&input) && takes(&gamma) && takes(&beta)) {
        return layer_norm_reference(input, residual, gamma, beta, epsilon);
    }
    let kernel = LayerNorm { epsilon: epsilon as f32 };
    match residual {
        Some(residual) => apply_4(kernel, input, gamma, beta, residual),
        None => apply_3(kernel, input, gamma, beta),
    }
}

/// The same in Burn's own ops, for every other device.
pub fn layer_norm_reference<const D: usize>(
    input: Tensor<D>,
    residual: Option<Tensor<D>>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    let input = match residual {
        Some(residual) => input + residual,
        None => input,
    };
    let (variance, mean) = input.clone().var_mean_bias(D - 1);
    (input - mean) / (variance + epsilon).sqrt() * gamma.unsqueeze() + beta.unsqueeze()
}

/// Inputs: input, gamma, beta, and the residual where there is one.
#[derive(Debug)]
struct LayerNorm {
    epsilon: f32,
}

impl Kernel for LayerNorm {
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let (input, gamma, beta) = (&inputs[0], &inputs[1], &inputs[2]);
        let residual = inputs.get(3);
        let (rows, _) = input.rows_and_width();
        let mut out = uninitialized(input.len());
        let mut statistics = uninitialized(if keep { 2 * rows } else { 0 });
        let keep_sum = keep && residual.is_some();
        let mut sum = uninitialized(if keep_sum { input.len() } else { 0 });
        forward_rows(
            input,
            residual.map(|residual| &**residual),
            gamma,
            beta,
            self.epsilon,
            &mut out,
            keep_sum.then_some(&mut sum),
            keep.then_some(&mut statistics),
        );
        let shape = input.shape().clone();
        let kept = match keep {
            true => vec![
                if keep_sum { tensor(sum, shape.clone()) } else { input.tensor().clone() },
                gamma.tensor().clone(),
                tensor(statistics, [2 * rows]),
            ],
            false => Vec::new(),
        };
        (tensor(out, shape), kept)
    }

    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        let [normalized, gamma, statistics] = kept else { unreachable!("what forward kept") };
        let width = gamma.len();
        let mut input_gradient = uninitialized(gradient.len());
        let with_parameters = wanted[1] || wanted[2];
        let size = if with_parameters { width } else { 0 };
        let (mut gammas, mut betas) = (vec![0.0; size], vec![0.0; size]);
        layer_norm_backward(
            gradient,
            normalized,
            statistics,
            gamma,
            &mut input_gradient,
            with_parameters.then_some((&mut gammas, &mut betas)),
        );
        let input_gradient = tensor(input_gradient, gradient.shape().clone());
        let mut gradients = vec![
            wanted[0].then(|| input_gradient.clone()),
            wanted[1].then(|| tensor(gammas, [width])),
            wanted[2].then(|| tensor(betas, [width])),
        ];
        // A sum hands its gradient to both of its terms.
        gradients.extend(wanted.get(3).map(|wanted| wanted.then_some(input_gradient)));
        gradients
    }
}
