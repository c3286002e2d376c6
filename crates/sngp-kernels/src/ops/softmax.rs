//! Softmax over the last dimension.

use burn::tensor::{Tensor, activation};
use burn_flex::FlexTensor;

use crate::array::{Array, tensor};
use crate::device::takes;
use crate::op::{Kernel, apply_1};
use crate::softmax::{softmax as softmax_rows, softmax_backward};

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
        true => apply_1(Softmax, input),
        false => activation::softmax(input, D - 1),
    }
}

#[derive(Debug)]
struct Softmax;

impl Kernel for Softmax {
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let (_, width) = inputs[0].rows_and_width();
        let mut out = inputs[0].to_vec();
        softmax_rows(&mut out, width);
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
        softmax_backward(&kept[0], &mut out, width);
        vec![Some(tensor(out, gradient.shape().clone()))]
    }
}
