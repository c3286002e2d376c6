//! The residual network that published CIFAR weights are of.

use burn::module::Module;
use burn::tensor::{Device, Tensor, s};
use serde::{Deserialize, Serialize};

use super::images::{self, Normalization};
use super::{Backbone, InputShape};
use crate::nn::{BatchNorm, Convolution};
use crate::spectral::{SpectralLayer, SpectralLayers};
use crate::{Error, Pass, Result};

/// Configuration of a [`ResNet`]; ResNet-20 on CIFAR's images by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResNetConfig {
    /// Number of layers: `6 n + 2`.
    pub depth: usize,
    /// Channels, height and width of the images; the sizes can be divided by four.
    pub image: [usize; 3],
    /// How the channels are normalized.
    pub normalization: Option<Normalization>,
}

impl Default for ResNetConfig {
    fn default() -> Self {
        Self { depth: 20, image: [3, 32, 32], normalization: None }
    }
}

/// A residual network with the activation after the sum (He et al., 2016, section 4.2): a first
/// convolution, three groups of blocks `relu(x + norm(conv(relu(norm(conv(x))))))` with 16, 32 and
/// 64 channels, and the mean over the image. Where a block halves the size, its shortcut takes
/// every other pixel and fills up with channels of zeros, so it has no weights.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::Pass;
/// use sngp::backbone::{Backbone, ResNet, ResNetConfig};
///
/// let device = Device::flex();
/// let config = ResNetConfig { depth: 8, image: [3, 8, 8], ..Default::default() };
/// let network = ResNet::build(&config, &device)?;
/// let hidden = network.forward(Tensor::zeros([2, 3, 8, 8], &device), &mut Pass::evaluate());
/// assert_eq!(hidden.dims(), [2, 64]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct ResNet {
    first: Convolution,
    norm: BatchNorm,
    layer1: Vec<Block>,
    layer2: Vec<Block>,
    layer3: Vec<Block>,
    image: [usize; 2],
    #[module(skip)]
    normalization: Option<Normalization>,
}

#[derive(Module, Debug)]
struct Block {
    conv1: Convolution,
    norm1: BatchNorm,
    conv2: Convolution,
    norm2: BatchNorm,
}

impl Block {
    fn new(channels: usize, filters: usize, stride: usize, device: &Device) -> Self {
        Self {
            conv1: Convolution::new(channels, filters, 3, stride, device),
            norm1: BatchNorm::new(filters, device),
            conv2: Convolution::new(filters, filters, 3, 1, device),
            norm2: BatchNorm::new(filters, device),
        }
    }

    fn forward(&self, input: Tensor<4>, pass: &Pass) -> Tensor<4> {
        let hidden = self.conv1.forward_normalized(input.clone(), &self.norm1, None, pass);
        let [.., filters] = hidden.dims();
        self.conv2.forward_normalized(hidden, &self.norm2, Some(shortcut(input, filters)), pass)
    }
}

/// The input itself, or every other pixel of it between channels of zeros.
fn shortcut(input: Tensor<4>, filters: usize) -> Tensor<4> {
    let [batch, height, width, channels] = input.dims();
    if channels == filters {
        return input;
    }
    let (device, dtype) = (input.device(), input.dtype());
    let sampled = input.slice(s![.., 0..height; 2, 0..width; 2, ..]);
    let before = (filters - channels) / 2;
    let zeros = |count| {
        Tensor::<4>::zeros([batch, height.div_ceil(2), width.div_ceil(2), count], &device)
            .cast(dtype)
    };
    Tensor::cat(vec![zeros(before), sampled, zeros(filters - channels - before)], 3)
}

impl SpectralLayers for ResNet {
    /// Every convolution, at the size of the images it sees.
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        let mut size = self.image;
        let mut layers = vec![SpectralLayer::convolution_with_norm(
            "first",
            &mut self.first.conv,
            &mut self.norm.norm,
            size,
        )];
        let groups = [&mut self.layer1, &mut self.layer2, &mut self.layer3];
        for (group, blocks) in groups.into_iter().enumerate() {
            for (index, block) in blocks.iter_mut().enumerate() {
                let name = |layer: &str| format!("layer{}.{index}.{layer}", group + 1);
                let stride = block.conv1.conv.stride[0];
                let (conv1, norm1) = (&mut block.conv1.conv, &mut block.norm1.norm);
                layers.push(SpectralLayer::convolution_with_norm(
                    name("conv1"),
                    conv1,
                    norm1,
                    size,
                ));
                size = size.map(|length| length.div_ceil(stride));
                let (conv2, norm2) = (&mut block.conv2.conv, &mut block.norm2.norm);
                layers.push(SpectralLayer::convolution_with_norm(
                    name("conv2"),
                    conv2,
                    norm2,
                    size,
                ));
            }
        }
        layers
    }
}

impl Backbone for ResNet {
    const NAME: &'static str = "resnet";
    type Config = ResNetConfig;
    type Batch = Tensor<4>;

    fn build(config: &ResNetConfig, device: &Device) -> Result<Self> {
        if config.depth < 8 || config.depth % 6 != 2 {
            return Err(Error::config("depth", config.depth, "it must be 6 n + 2, from 8 on"));
        }
        images::check(config.image, config.normalization.as_ref())?;
        let [channels, height, width] = config.image;
        let group = |channels: usize, filters: usize| {
            let block = |index| match index {
                0 if channels != filters => Block::new(channels, filters, 2, device),
                _ => Block::new(filters, filters, 1, device),
            };
            (0..(config.depth - 2) / 6).map(block).collect()
        };
        Ok(Self {
            first: Convolution::new(channels, 16, 3, 1, device),
            norm: BatchNorm::new(16, device),
            layer1: group(16, 16),
            layer2: group(16, 32),
            layer3: group(32, 64),
            image: [height, width],
            normalization: config.normalization.clone(),
        })
    }

    /// Images come with their channels first, `[batch, channels, height, width]`.
    fn forward(&self, batch: Tensor<4>, pass: &mut Pass) -> Tensor<2> {
        let images = images::prepared(batch, self.normalization.as_ref());
        let first = self.first.forward_normalized(images, &self.norm, None, pass);
        let blocks = self.layer1.iter().chain(&self.layer2).chain(&self.layer3);
        sngp_kernels::mean_pool(blocks.fold(first, |hidden, block| block.forward(hidden, pass)))
    }

    fn width(_: &ResNetConfig) -> usize {
        64
    }

    fn check(config: &ResNetConfig, batch: &Tensor<4>) -> Result<()> {
        images::check_batch(config.image, batch)
    }

    fn input(config: &ResNetConfig) -> InputShape {
        let [channels, height, width] = config.image;
        InputShape::Images { channels, height, width }
    }

    fn batch_of_rows(config: &ResNetConfig, rows: Tensor<2>) -> Option<Tensor<4>> {
        images::of_rows(config.image, rows)
    }
}
