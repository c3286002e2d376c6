//! The mean over an image, and the largest value of each window.

use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use crate::array::{Array, tensor, uninitialized};
use crate::device::takes;
use crate::op::{Kernel, apply_1};
use crate::pool::{
    max_over_windows, max_over_windows_backward, mean_over_pixels, mean_over_pixels_backward,
};

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

/// The largest value of every window of `[height, width]` pixels, which tile the image.
///
/// # Shapes
/// - input: `[batch, height, width, channels]`, sizes that are multiples of the window's
/// - output: `[batch, height / window, width / window, channels]`
///
/// # Panics
/// Where the windows do not tile the image.
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let image = Tensor::<4>::from_floats([[[[1.0], [3.0]], [[2.0], [0.0]]]], &Device::flex());
/// assert_eq!(sngp_kernels::max_pool(image, [2, 2]).into_scalar::<f32>(), 3.0);
/// ```
pub fn max_pool(input: Tensor<4>, window: [usize; 2]) -> Tensor<4> {
    let [_, height, width, _] = input.dims();
    let tiles = |size: usize, window: usize| window > 0 && size.is_multiple_of(window);
    assert!(
        tiles(height, window[0]) && tiles(width, window[1]),
        "windows of {window:?} do not tile an image of {height} x {width}"
    );
    if takes(&input) {
        return apply_1(MaxPool { window }, input);
    }
    max_pool_reference(input, window)
}

/// The same in Burn's own ops, for every other device.
pub fn max_pool_reference(input: Tensor<4>, window: [usize; 2]) -> Tensor<4> {
    let [batch, height, width, channels] = input.dims();
    let [down, across] = [height / window[0], width / window[1]];
    let rows = input.reshape([batch * down, window[0], across, window[1], channels]);
    rows.max_dim(3).max_dim(1).reshape([batch, down, across, channels])
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

#[derive(Debug)]
struct MaxPool {
    window: [usize; 2],
}

impl Kernel for MaxPool {
    /// Keeps where the largest values were, a part of the input's size.
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let input = &inputs[0];
        let [batch, height, width, channels] = input.shape().dims();
        let shape = [batch, height / self.window[0], width / self.window[1], channels];
        let size = shape.iter().product();
        let mut out = uninitialized(size);
        let mut taken = keep.then(|| uninitialized(size));
        let image = [height, width, channels];
        max_over_windows(input, image, self.window, &mut out, taken.as_deref_mut());
        let kept = taken.map(|taken| tensor(taken, shape));
        (tensor(out, shape), kept.into_iter().collect())
    }

    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        _wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        let taken = &kept[0];
        let [batch, down, across, channels] = taken.shape().dims();
        let image = [down * self.window[0], across * self.window[1], channels];
        let mut out = uninitialized(batch * image.iter().product::<usize>());
        max_over_windows_backward(gradient, taken, image, self.window, &mut out);
        vec![Some(tensor(out, [batch, image[0], image[1], channels]))]
    }
}
