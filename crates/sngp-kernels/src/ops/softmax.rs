//! Softmax and its logarithm over the last dimension.

use burn::tensor::{Tensor, activation};
use burn_flex::FlexTensor;

use crate::array::{Array, tensor};
use crate::device::takes;
use crate::op::{Kernel, apply_1};
use crate::softmax::{
    log_softmax as log_softmax_rows, log_softmax_backward, softmax as softmax_rows,
    softmax_backward,
};

/// `e^x_i / sum_j e^x_j` over the last dimension. A row of negative infinities gives zeros.
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let x = Tensor::<2>::zeros([1, 2], &Device::flex());
/// assert_eq!(sngp_kernels::softmax(x).into_data(), [[0.5f32, 0.5]].into());
/// ```
pub fn softmax<const D: usize>(input: Tensor<D>) -> Tensor<D> {
    match takes(&input) {
        true => apply_1(Softmax::Plain, input),
        false => activation::softmax(input, D - 1),
    }
}

/// `x_i - ln sum_j e^x_j` over the last dimension.
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let x = Tensor::<2>::zeros([1, 1], &Device::flex());
/// assert_eq!(sngp_kernels::log_softmax(x).into_scalar::<f32>(), 0.0);
/// ```
pub fn log_softmax<const D: usize>(input: Tensor<D>) -> Tensor<D> {
    match takes(&input) {
        true => apply_1(Softmax::Logarithm, input),
        false => activation::log_softmax(input, D - 1),
    }
}

#[derive(Debug)]
enum Softmax {
    Plain,
    Logarithm,
}

impl Kernel for Softmax {
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let (_, width) = inputs[0].rows_and_width();
        let mut out = inputs[0].to_vec();
        match self {
            Self::Plain => softmax_rows(&mut out, width),
            Self::Logarithm => log_softmax_rows(&mut out, width),
        }
        let out = tensor(out, inputs[0].shape().clone());
        let kept = if keep { vec![out.clone()] } else { Vec::new() };
        (out, kept)
    }

    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        _wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        let (_, width) = gradient.rows_and_width();
        let mut out = gradient.to_vec();
        match self {
            Self::Plain => softmax_backward(&kept[0], &mut out, width),
            Self::Logarithm => log_softmax_backward(&kept[0], &mut out, width),
        }
        vec![Some(tensor(out, gradient.shape().clone()))]
    }
}
