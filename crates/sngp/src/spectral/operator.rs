//! A layer as the linear map it really is.

use burn::nn::conv::Conv2d;
use burn::nn::{BatchNorm, Linear, PaddingConfig2d};
use burn::tensor::module::{conv_transpose2d, conv2d};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions, PadMode};
use burn::tensor::{Tensor, TensorData};
use rand::RngExt;
use rand_distr::StandardNormal;
use sngp_kernels::{Geometry, convolution_transposed};

use crate::seed::{Purpose, stream};

/// The linear map `A` of a layer, without its bias, away from autodiff.
///
/// A convolution is taken with its own stride, padding, dilation and groups at the input size it
/// sees; the norm of its reshaped kernel is another number (about 1.7 times smaller for 3 x 3).
///
/// ```
/// use burn::tensor::Device;
/// use ndarray::array;
/// use sngp::spectral::Operator;
///
/// let layer = sngp::nn::linear(array![[3.0, 0.0], [0.0, 2.0]].view(), None, &Device::flex());
/// assert!((Operator::dense(&layer).norm(50) - 3.0).abs() < 1e-4);
/// ```
#[derive(Clone, Debug)]
pub struct Operator {
    map: Map,
}

#[derive(Clone, Debug)]
enum Map {
    /// `[inputs, outputs]`.
    Dense(Tensor<2>),
    Convolution(Convolution),
}

#[derive(Clone, Debug)]
struct Convolution {
    kernel: Tensor<4>,
    stride: [usize; 2],
    dilation: [usize; 2],
    groups: usize,
    /// `(before, after)` for height and width; applied explicitly, so asymmetric is fine.
    padding: [(usize, usize); 2],
    input: [usize; 2],
    /// What the outputs of every filter are multiplied by, `[1, filters, 1, 1]`.
    scale: Option<Box<Tensor<4>>>,
}

impl Operator {
    /// The map of a dense layer.
    pub fn dense(layer: &Linear) -> Self {
        Self { map: Map::Dense(layer.weight.val().inner()) }
    }

    /// The map of a convolution on inputs of `input = [height, width]`.
    pub fn convolution(layer: &Conv2d, input: [usize; 2]) -> Self {
        Self {
            map: Map::Convolution(Convolution {
                kernel: layer.weight.val().inner(),
                stride: layer.stride,
                dilation: layer.dilation,
                groups: layer.groups,
                padding: padding(layer, input),
                input,
                scale: None,
            }),
        }
    }

    /// The map of a convolution and the batch normalization after it, as it is outside of training:
    /// every filter's outputs are multiplied by `gamma / sqrt(running variance + epsilon)`.
    pub fn convolution_with_norm(layer: &Conv2d, norm: &BatchNorm, input: [usize; 2]) -> Self {
        let mut operator = Self::convolution(layer, input);
        if let Map::Convolution(convolution) = &mut operator.map {
            let deviation = (norm.running_var.value().inner() + norm.epsilon).sqrt();
            let scale = norm.gamma.val().inner() / deviation;
            let filters = scale.dims()[0];
            convolution.scale = Some(Box::new(scale.reshape([1, filters, 1, 1])));
        }
        operator
    }

    /// The number of outputs, the length of the power iteration's persisted vector `u`.
    pub fn outputs(&self) -> usize {
        match &self.map {
            Map::Dense(weight) => weight.dims()[1],
            Map::Convolution(convolution) => convolution.output_shape().iter().product(),
        }
    }

    /// `A v`.
    fn apply(&self, v: Tensor<1>) -> Tensor<1> {
        match &self.map {
            Map::Dense(weight) => v.unsqueeze::<2>().matmul(weight.clone()).flatten(0, 1),
            Map::Convolution(convolution) => convolution.apply(v),
        }
    }

    /// `A^T u`.
    fn apply_transposed(&self, u: Tensor<1>) -> Tensor<1> {
        match &self.map {
            Map::Dense(weight) => weight.clone().matmul(u.unsqueeze_dim(1)).flatten(0, 1),
            Map::Convolution(convolution) => convolution.apply_transposed(u),
        }
    }

    /// `iterations` power iterations from `u`: the new `u` and the estimate `s = u . A v`, a
    /// tensor of one element so that the device is not asked for it.
    pub fn power_iteration(&self, u: Tensor<1>, iterations: usize) -> (Tensor<1>, Tensor<1>) {
        let mut u = u;
        let mut norm = Tensor::zeros([1], &u.device());
        for _ in 0..iterations {
            let v = unit(self.apply_transposed(u.clone()));
            let image = self.apply(v);
            norm = length(image.clone());
            // A zero weight has no direction: the old one is kept, for when it grows.
            let stuck = norm.clone().equal_elem(0.0).float();
            u = unit(image) + u * stuck;
        }
        (u, norm)
    }

    /// A random unit vector to start from.
    pub fn start(&self, seed: u64, index: u64) -> Tensor<1> {
        let mut rng = stream(seed, Purpose::PowerIteration, index);
        let values: Vec<f32> = (0..self.outputs()).map(|_| rng.sample(StandardNormal)).collect();
        unit(Tensor::from_data(TensorData::from(values.as_slice()), &self.device()))
    }

    /// A zero vector of the outputs' size.
    pub(super) fn zeros(&self) -> Tensor<1> {
        Tensor::zeros([self.outputs()], &self.device())
    }

    /// The spectral norm by power iteration from a random start: at most `iterations`, fewer once
    /// the estimate moves by less than one part in a million over twenty of them.
    pub fn norm(&self, iterations: usize) -> f64 {
        const CHUNK: usize = 20;
        let mut u = self.start(0, 0);
        let (mut last, mut done) = (0.0f64, 0);
        while done < iterations {
            let count = CHUNK.min(iterations - done);
            let (next, norm) = self.power_iteration(u, count);
            u = next;
            let norm = f64::from(norm.into_scalar::<f32>());
            if (norm - last).abs() <= 1e-6 * norm {
                return norm;
            }
            last = norm;
            done += count;
        }
        last
    }

    fn device(&self) -> burn::tensor::Device {
        match &self.map {
            Map::Dense(weight) => weight.device(),
            Map::Convolution(convolution) => convolution.kernel.device(),
        }
    }
}

impl Convolution {
    /// How our own kernels see it, where they have such convolutions.
    fn geometry(&self) -> Option<Geometry> {
        let [(padding, _), _] = self.padding;
        let plain = self.padding == [(padding, padding); 2]
            && self.stride[0] == self.stride[1]
            && self.dilation == [1, 1]
            && self.groups == 1;
        plain.then_some(Geometry { stride: self.stride[0], padding })
    }

    fn output_shape(&self) -> [usize; 4] {
        let [outputs, _, kernel_height, kernel_width] = self.kernel.dims();
        let size = |axis: usize, kernel: usize| {
            let padded = self.input[axis] + self.padding[axis].0 + self.padding[axis].1;
            (padded - self.dilation[axis] * (kernel - 1) - 1) / self.stride[axis] + 1
        };
        [1, outputs, size(0, kernel_height), size(1, kernel_width)]
    }

    fn apply(&self, v: Tensor<1>) -> Tensor<1> {
        self.scaled(self.convolved(v))
    }

    /// Outputs times what their filters are multiplied by. The map is its own transpose.
    fn scaled(&self, outputs: Tensor<1>) -> Tensor<1> {
        match &self.scale {
            Some(scale) => (outputs.reshape(self.output_shape()) * *scale.clone()).flatten(0, 3),
            None => outputs,
        }
    }

    fn convolved(&self, v: Tensor<1>) -> Tensor<1> {
        let channels = self.kernel.dims()[1] * self.groups;
        let image = v.reshape([1, channels, self.input[0], self.input[1]]);
        if let Some(geometry) = self.geometry() {
            let (image, kernel) = (image.permute([0, 2, 3, 1]), self.kernel.clone());
            let output = sngp_kernels::convolution(image, kernel, geometry, None, None);
            return output.permute([0, 3, 1, 2]).flatten(0, 3);
        }
        let [(top, bottom), (left, right)] = self.padding;
        let image = image.pad((left, right, top, bottom), PadMode::Constant(0.0));
        let options = ConvOptions::new(self.stride, [0, 0], self.dilation, self.groups);
        conv2d(image, self.kernel.clone(), None, options).flatten(0, 3)
    }

    /// The transposed convolution, cropped back to the input: it covers the padded input up to
    /// the last position a window reached, and zeros stand where none did.
    fn apply_transposed(&self, u: Tensor<1>) -> Tensor<1> {
        let [_, _, kernel_height, kernel_width] = self.kernel.dims();
        let shape = self.output_shape();
        let u = self.scaled(u);
        if let Some(geometry) = self.geometry() {
            let output = u.clone().reshape(shape).permute([0, 2, 3, 1]);
            let kernel = self.kernel.clone();
            let size = self.input;
            if let Some(image) = convolution_transposed(output, kernel, geometry, size) {
                return image.permute([0, 3, 1, 2]).flatten(0, 3);
            }
        }
        let rest = |axis: usize, kernel: usize| {
            let padded = self.input[axis] + self.padding[axis].0 + self.padding[axis].1;
            let reached =
                (shape[axis + 2] - 1) * self.stride[axis] + self.dilation[axis] * (kernel - 1) + 1;
            padded - reached
        };
        let rest = [rest(0, kernel_height), rest(1, kernel_width)];
        let options =
            ConvTransposeOptions::new(self.stride, [0, 0], [0, 0], self.dilation, self.groups);
        let image = conv_transpose2d(u.reshape(shape), self.kernel.clone(), None, options);
        let image = image.pad((0, rest[1], 0, rest[0]), PadMode::Constant(0.0));
        let [(top, _), (left, _)] = self.padding;
        let channels = self.kernel.dims()[1] * self.groups;
        image
            .slice([0..1, 0..channels, top..top + self.input[0], left..left + self.input[1]])
            .flatten(0, 3)
    }
}

/// `(before, after)` padding of both axes, as Burn's layer applies it.
fn padding(layer: &Conv2d, input: [usize; 2]) -> [(usize, usize); 2] {
    match layer.padding {
        PaddingConfig2d::Valid => [(0, 0); 2],
        PaddingConfig2d::Explicit(top, left, bottom, right) => [(top, bottom), (left, right)],
        PaddingConfig2d::Same => [0, 1].map(|axis| {
            let outputs = input[axis].div_ceil(layer.stride[axis]);
            let needed = outputs.saturating_sub(1) * layer.stride[axis] + layer.kernel_size[axis];
            let total = needed.saturating_sub(input[axis]);
            (total / 2, total - total / 2)
        }),
    }
}

fn length(x: Tensor<1>) -> Tensor<1> {
    x.square().sum().sqrt()
}

/// `x / ||x||`; a zero vector (a zero weight) stays zero.
fn unit(x: Tensor<1>) -> Tensor<1> {
    let norm = length(x.clone()).clamp_min(f32::MIN_POSITIVE);
    x / norm
}
