//! Convolutions of channels-last images.

use std::sync::OnceLock;

use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Tensor, activation};
use burn_flex::FlexTensor;

use crate::array::{Array, tensor, uninitialized};
use crate::conv::{
    ConvShape, Epilogue, Method, PreparedGradient, PreparedWeight, Tile, weight_gradient,
};
use crate::device::takes;
use crate::op::{Kernel, apply_2, apply_3, apply_4, apply_5};
use crate::prepared::Prepared;

/// How a square kernel moves over an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Pixels from one position to the next.
    pub stride: usize,
    /// Zeros around the image.
    pub padding: usize,
}

/// A convolution without bias, with an optional residual added: 1 x 1 as a plain product, 3 x 3
/// of stride 1 by Winograd's algorithm (F(4x4, 3x3) or F(2x2, 3x3), whichever is faster for the
/// size), others as an implicit product.
///
/// `prepared`, if there is one, belongs to the layer: it keeps the transformed weight between
/// predictions.
///
/// # Shapes
/// - input: `[batch, height, width, channels]`, weight: `[filters, channels, kernel, kernel]`
/// - residual and output: `[batch, height', width', filters]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp_kernels::{Geometry, convolution};
///
/// let device = Device::flex();
/// let (image, weight) = (Tensor::ones([1, 3, 3, 1], &device), Tensor::ones([1, 1, 3, 3], &device));
/// let sums = convolution(image, weight, Geometry { stride: 1, padding: 0 }, None, None);
/// assert_eq!(sums.into_scalar::<f32>(), 9.0);
/// ```
pub fn convolution(
    input: Tensor<4>,
    weight: Tensor<4>,
    geometry: Geometry,
    residual: Option<Tensor<4>>,
    prepared: Option<&Prepared>,
) -> Tensor<4> {
    let fits = fits(&input, &weight, geometry)
        .is_some_and(|shape| residual.as_ref().is_none_or(|residual| residual.dims() == shape));
    if !(fits && takes(&input) && takes(&weight)) {
        return convolution_reference(input, weight, geometry, residual);
    }
    let kernel = Convolution { geometry, relu: false, prepared: prepared.cloned() };
    match residual {
        Some(residual) => apply_3(kernel, input, weight, residual),
        None => apply_2(kernel, input, weight),
    }
}

/// The same in Burn's own ops, for every other device.
pub fn convolution_reference(
    input: Tensor<4>,
    weight: Tensor<4>,
    geometry: Geometry,
    residual: Option<Tensor<4>>,
) -> Tensor<4> {
    let Geometry { stride, padding } = geometry;
    let options = ConvOptions::new([stride; 2], [padding; 2], [1; 2], 1);
    let output = conv2d(input.permute([0, 3, 1, 2]), weight, None, options);
    let output = output.permute([0, 2, 3, 1]);
    match residual {
        Some(residual) => output + residual,
        None => output,
    }
}

/// `relu(convolution * scale + shift + residual)`: a convolution with the batch normalization, the
/// shortcut and the activation that follow it folded in, for prediction.
///
/// # Shapes
/// - as for [`convolution`]; scale and shift: `[filters]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp_kernels::{Geometry, convolution_folded};
///
/// let device = Device::flex();
/// let (image, weight) = (Tensor::ones([1, 1, 1, 2], &device), Tensor::ones([1, 2, 1, 1], &device));
/// let (scale, shift) = (Tensor::full([1], 3.0, &device), Tensor::full([1], -1.0, &device));
/// let geometry = Geometry { stride: 1, padding: 0 };
/// let y = convolution_folded(image, weight, geometry, scale, shift, None, None);
/// assert_eq!(y.into_scalar::<f32>(), 5.0);
/// ```
pub fn convolution_folded(
    input: Tensor<4>,
    weight: Tensor<4>,
    geometry: Geometry,
    scale: Tensor<1>,
    shift: Tensor<1>,
    residual: Option<Tensor<4>>,
    prepared: Option<&Prepared>,
) -> Tensor<4> {
    let tracked = input.is_tracked() || weight.is_tracked();
    let tracked = tracked || scale.is_tracked() || shift.is_tracked();
    let tracked = tracked || residual.as_ref().is_some_and(Tensor::is_tracked);
    let fits = fits(&input, &weight, geometry).is_some_and(|shape| {
        let filters = [shape[3]];
        let added = residual.as_ref().is_none_or(|residual| residual.dims() == shape);
        scale.dims() == filters && shift.dims() == filters && added
    });
    if tracked || !(fits && takes(&input) && takes(&weight)) {
        let output = convolution(input, weight, geometry, None, prepared);
        let output = output * scale.unsqueeze() + shift.unsqueeze();
        return activation::relu(match residual {
            Some(residual) => output + residual,
            None => output,
        });
    }
    let kernel = Convolution { geometry, relu: true, prepared: prepared.cloned() };
    match residual {
        Some(residual) => apply_5(kernel, input, weight, scale, shift, residual),
        None => apply_4(kernel, input, weight, scale, shift),
    }
}

/// The transpose of a convolution as a linear map: from its outputs back to images of a size. This
/// is what its input's gradient is computed with, and what power iterations need.
///
/// # Shapes
/// - outputs: `[batch, height', width', filters]`, weight: `[filters, channels, kernel, kernel]`
/// - result: `[batch, height, width, channels]`; `None` where the kernel does not apply
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp_kernels::{Geometry, convolution_transposed};
///
/// let device = Device::flex();
/// let (output, weight) = (Tensor::ones([1, 1, 1, 1], &device), Tensor::ones([1, 1, 3, 3], &device));
/// let geometry = Geometry { stride: 1, padding: 0 };
/// let image = convolution_transposed(output, weight, geometry, [3, 3]).unwrap();
/// assert_eq!(image.sum().into_scalar::<f32>(), 9.0);
/// ```
pub fn convolution_transposed(
    outputs: Tensor<4>,
    weight: Tensor<4>,
    geometry: Geometry,
    size: [usize; 2],
) -> Option<Tensor<4>> {
    let [batch, ..] = outputs.dims();
    let [filters, channels, kernel, across] = weight.dims();
    let image = [batch, size[0], size[1], channels];
    let shape = shape(&image, &weight.dims(), geometry);
    let inside = size.iter().all(|side| side + 2 * geometry.padding >= kernel);
    let square = kernel == across && kernel > 0 && geometry.stride > 0;
    let fits = square && inside && outputs.dims() == output_shape(&shape) && filters > 0;
    let tracked = outputs.is_tracked() || weight.is_tracked();
    let applies = fits && !tracked && takes(&outputs) && takes(&weight);
    applies.then(|| apply_2(Transposed { geometry, size }, outputs, weight))
}

/// The shape of the output; `None` where the kernel does not apply: Burn's ops then give their
/// own message.
fn fits(input: &Tensor<4>, weight: &Tensor<4>, geometry: Geometry) -> Option<[usize; 4]> {
    let [_, channels, height, width] = weight.dims();
    let shape = shape(&input.dims(), &weight.dims(), geometry);
    let square = height == width && height > 0 && geometry.stride > 0;
    let matching = square && channels == shape.channels && channels > 0;
    let inside =
        shape.height + 2 * shape.padding >= height && shape.width + 2 * shape.padding >= width;
    (matching && inside).then(|| output_shape(&shape))
}

fn shape(input: &[usize], weight: &[usize], geometry: Geometry) -> ConvShape {
    ConvShape {
        batch: input[0],
        height: input[1],
        width: input[2],
        channels: input[3],
        filters: weight[0],
        kernel: weight[2],
        stride: geometry.stride,
        padding: geometry.padding,
    }
}

fn output_shape(shape: &ConvShape) -> [usize; 4] {
    [shape.batch, shape.output_height(), shape.output_width(), shape.filters]
}

/// Inputs: input and weight; then a residual, or scale and shift and perhaps a residual.
#[derive(Debug)]
struct Convolution {
    geometry: Geometry,
    relu: bool,
    prepared: Option<Prepared>,
}

/// A weight in the forms that predictions of various sizes have asked for.
#[derive(Default)]
struct Forms {
    direct: OnceLock<PreparedWeight>,
    two: OnceLock<PreparedWeight>,
    four: OnceLock<PreparedWeight>,
}

impl Forms {
    fn of(&self, method: Method) -> &OnceLock<PreparedWeight> {
        match method {
            Method::Direct => &self.direct,
            Method::Winograd(Tile::Two) => &self.two,
            Method::Winograd(Tile::Four) => &self.four,
        }
    }
}

impl Convolution {
    fn shape(&self, input: &Array, weight: &Array) -> ConvShape {
        shape(input.shape().as_slice(), weight.shape().as_slice(), self.geometry)
    }
}

impl Kernel for Convolution {
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let (input, weight) = (&inputs[0], &inputs[1]);
        let shape = self.shape(input, weight);
        let epilogue = match &inputs[2..] {
            [residual] => Epilogue { residual: Some(residual), ..Epilogue::default() },
            [scale, shift, residual @ ..] => Epilogue {
                scale: Some(scale),
                shift: Some(shift),
                residual: residual.first().map(|residual| &**residual),
                relu: self.relu,
            },
            _ => Epilogue::default(),
        };
        let mut out = uninitialized(shape.output_len());
        let method = Method::of(&shape);
        let prepare = || PreparedWeight::new(weight, &shape, method);
        match &self.prepared {
            // In training the weight is another one after every step.
            Some(prepared) if !keep => {
                let forms = prepared.of(weight.tensor(), Forms::default);
                let prepared = forms.of(method).get_or_init(prepare);
                prepared.forward(input, &shape, &epilogue, &mut out);
            }
            _ => prepare().forward(input, &shape, &epilogue, &mut out),
        }
        let kept = match keep {
            true => vec![input.tensor().clone(), weight.tensor().clone()],
            false => Vec::new(),
        };
        (tensor(out, output_shape(&shape)), kept)
    }

    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        let [input, weight] = kept else { unreachable!("what forward kept") };
        let shape = self.shape(input, weight);
        let method = Method::of(&shape);
        let input_gradient = wanted[0].then(|| {
            let mut out = uninitialized(shape.input_len());
            let prepared = PreparedGradient::new(weight, &shape, method);
            prepared.input_gradient(gradient, &shape, &mut out);
            tensor(out, input.shape().clone())
        });
        let weight_gradient = wanted[1].then(|| {
            let mut out = uninitialized(shape.weight_len());
            weight_gradient(input, gradient, &shape, method, &mut out);
            tensor(out, weight.shape().clone())
        });
        let mut gradients = vec![input_gradient, weight_gradient];
        gradients.extend(wanted.get(2).map(|_| Some(gradient.tensor().clone())));
        gradients
    }
}

/// Inputs: outputs of a convolution and its weight.
#[derive(Debug)]
struct Transposed {
    geometry: Geometry,
    size: [usize; 2],
}

impl Kernel for Transposed {
    fn forward(&self, inputs: &[Array], _keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let (outputs, weight) = (&inputs[0], &inputs[1]);
        let (batch, weight_shape) = (outputs.shape()[0], weight.shape().as_slice());
        let image = [batch, self.size[0], self.size[1], weight_shape[1]];
        let shape = shape(&image, weight_shape, self.geometry);
        let mut out = uninitialized(shape.input_len());
        let prepared = PreparedGradient::new(weight, &shape, Method::of(&shape));
        prepared.input_gradient(outputs, &shape, &mut out);
        (tensor(out, image), Vec::new())
    }

    fn backward(&self, _: &[Array], _: &Array, _: &[bool]) -> Vec<Option<FlexTensor>> {
        unreachable!("tracked tensors do not come here")
    }
}
