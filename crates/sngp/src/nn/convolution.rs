//! Convolutions of channels-last images.

use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{Initializer, PaddingConfig2d};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sngp_kernels::{Geometry, Prepared};

use super::BatchNorm;
use crate::pass::{Mode, Pass};

/// A convolution with a square kernel, padded so that a stride of one keeps the size, without a
/// bias: batch normalization follows it.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::nn::Convolution;
///
/// let device = Device::flex();
/// let layer = Convolution::new(3, 8, 3, 2, &device);
/// let image = Tensor::zeros([1, 32, 32, 3], &device);
/// assert_eq!(layer.forward(image, None).dims(), [1, 16, 16, 8]);
/// ```
#[derive(Module, Debug)]
pub struct Convolution {
    /// The parameters.
    pub conv: Conv2d,
    #[module(skip)]
    prepared: Prepared,
}

impl Convolution {
    /// Draws a layer (He et al., 2015, by the number of outputs).
    pub fn new(
        channels: usize,
        filters: usize,
        kernel: usize,
        stride: usize,
        device: &Device,
    ) -> Self {
        let around = kernel / 2;
        let gain = std::f64::consts::SQRT_2;
        let conv = Conv2dConfig::new([channels, filters], [kernel, kernel])
            .with_stride([stride, stride])
            .with_padding(PaddingConfig2d::Explicit(around, around, around, around))
            .with_bias(false)
            .with_initializer(Initializer::KaimingNormal { gain, fan_out_only: true })
            .init(device);
        Self { conv, prepared: Prepared::default() }
    }

    /// The convolution, with an optional residual added to it.
    ///
    /// # Shapes
    /// - input: `[batch, height, width, channels]`
    /// - residual and output: `[batch, height / stride, width / stride, filters]`
    pub fn forward(&self, input: Tensor<4>, residual: Option<Tensor<4>>) -> Tensor<4> {
        let (weight, prepared) = (self.conv.weight.val(), Some(&self.prepared));
        sngp_kernels::convolution(input, weight, self.geometry(), residual, prepared)
    }

    /// The convolution, normalized, with an optional residual added, and cut off at zero: one pass
    /// where the normalization is known.
    ///
    /// # Shapes
    /// - as for [`forward`](Self::forward)
    pub fn forward_normalized(
        &self,
        input: Tensor<4>,
        norm: &BatchNorm,
        residual: Option<Tensor<4>>,
        pass: &Pass,
    ) -> Tensor<4> {
        if pass.mode() == Mode::Train {
            let output = self.forward(input, None);
            return match residual {
                Some(residual) => relu(norm.train_linear(output) + residual),
                None => norm.forward(output, pass),
            };
        }
        let (scale, shift) = norm.scale_and_shift();
        let (weight, prepared) = (self.conv.weight.val(), Some(&self.prepared));
        let geometry = self.geometry();
        sngp_kernels::convolution_folded(input, weight, geometry, scale, shift, residual, prepared)
    }

    fn geometry(&self) -> Geometry {
        Geometry { stride: self.conv.stride[0], padding: self.conv.kernel_size[0] / 2 }
    }
}
