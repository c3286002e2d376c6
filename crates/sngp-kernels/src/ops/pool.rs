//! The mean over an image.

use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use crate::array::{Array, tensor, uninitialized};
use crate::device::takes;
use crate::op::{Kernel, apply_1};
use crate::pool::{mean_over_pixels, mean_over_pixels_backward};

/// The mean over the pixels of every image.
///
/// # Shapes
/// - input: `[batch, height, width, channels]`, output: `[batch, channels]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let image = Tensor::<4>::from_floats([[[[1.0], [3.0]]]], &Device::flex());
/// assert_eq!(sngp_kernels::mean_pool(image).into_scalar::<f32>(), 2.0);
/// ```
pub fn mean_pool(input: Tensor<4>) -> Tensor<2> {
    if takes(&input) {
        return apply_1(MeanPool, input);
    }
    let [batch, height, width, channels] = input.dims();
    input.reshape([batch, height * width, channels]).mean_dim(1).reshape([batch, channels])
}

#[derive(Debug)]
struct MeanPool;

impl Kernel for MeanPool {
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let input = &inputs[0];
        let [batch, height, width, channels] = input.shape().dims();
        let mut out = uninitialized(batch * channels);
        mean_over_pixels(input, height * width, channels, &mut out);
        // Only its shape is needed.
        let kept = if keep { vec![input.tensor().clone()] } else { Vec::new() };
        (tensor(out, [batch, channels]), kept)
    }

    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        _wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        let [_, height, width, channels] = kept[0].shape().dims();
        let mut out = uninitialized(kept[0].len());
        mean_over_pixels_backward(gradient, height * width, channels, &mut out);
        vec![Some(tensor(out, kept[0].shape().clone()))]
    }
}
