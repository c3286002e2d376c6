//! Wide residual network for images.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::images::{self, Normalization};
use super::{Backbone, InputShape};
use crate::nn::{BatchNorm, Convolution, Dropout};
use crate::spectral::{SpectralLayer, SpectralLayers};
use crate::{Error, Pass, Result};

/// Configuration of a [`WideResNet`]; the paper's WRN-28-10 on CIFAR's images by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WideResNetConfig {
    /// Number of layers: `6 n + 4`.
    pub depth: usize,
    /// Factor on the 16, 32 and 64 channels of the three groups.
    pub widen: usize,
    /// Dropout rate inside of each block.
    pub dropout: f64,
    /// Channels, height and width of the images; the sizes can be divided by four.
    pub image: [usize; 3],
    /// How the channels are normalized.
    pub normalization: Option<Normalization>,
}

impl Default for WideResNetConfig {
    fn default() -> Self {
        Self { depth: 28, widen: 10, dropout: 0.1, image: [3, 32, 32], normalization: None }
    }
}

impl WideResNetConfig {
    fn check(&self) -> Result<()> {
        if self.depth < 10 || self.depth % 6 != 4 {
            return Err(Error::config("depth", self.depth, "it must be 6 n + 4, from 10 on"));
        }
        if self.widen == 0 {
            return Err(Error::config("widen", 0, "it must be at least 1"));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::config("dropout", self.dropout, "it must be in [0, 1)"));
        }
        images::check(self.image, self.normalization.as_ref())
    }

    /// Channels and stride of each group's first block.
    fn groups(&self) -> [(usize, usize); 3] {
        [(16 * self.widen, 1), (32 * self.widen, 2), (64 * self.widen, 2)]
    }
}

/// A pre-activation residual network (Zagoruyko and Komodakis, 2016): a first convolution, three
/// groups of blocks `x + conv(relu(norm(conv(relu(norm(x))))))`, a last normalization, and the
/// mean over the image.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::Pass;
/// use sngp::backbone::{Backbone, WideResNet, WideResNetConfig};
///
/// let device = Device::flex();
/// let config = WideResNetConfig { depth: 10, widen: 1, image: [3, 8, 8], ..Default::default() };
/// let network = WideResNet::build(&config, &device)?;
/// let hidden = network.forward(Tensor::zeros([2, 3, 8, 8], &device), &mut Pass::evaluate());
/// assert_eq!(hidden.dims(), [2, 64]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct WideResNet {
    first: Convolution,
    blocks: Vec<Block>,
    norm: BatchNorm,
    image: [usize; 2],
    #[module(skip)]
    normalization: Option<Normalization>,
}

#[derive(Module, Debug)]
struct Block {
    norm1: BatchNorm,
    conv1: Convolution,
    norm2: BatchNorm,
    conv2: Convolution,
    /// Where the block changes the number of channels or the size.
    shortcut: Option<Convolution>,
    dropout: Dropout,
}

impl Block {
    fn new(channels: usize, filters: usize, stride: usize, dropout: f64, device: &Device) -> Self {
        let changes = channels != filters || stride != 1;
        Self {
            norm1: BatchNorm::new(channels, device),
            conv1: Convolution::new(channels, filters, 3, stride, device),
            norm2: BatchNorm::new(filters, device),
            conv2: Convolution::new(filters, filters, 3, 1, device),
            shortcut: changes.then(|| Convolution::new(channels, filters, 1, stride, device)),
            dropout: Dropout::new(dropout),
        }
    }

    fn forward(&self, input: Tensor<4>, pass: &mut Pass) -> Tensor<4> {
        let active = self.norm1.forward(input.clone(), pass);
        let residual = match &self.shortcut {
            Some(shortcut) => shortcut.forward(active.clone(), None),
            None => input,
        };
        let hidden = self.conv1.forward_normalized(active, &self.norm2, None, pass);
        self.conv2.forward(self.dropout.forward(hidden, pass), Some(residual))
    }
}

impl SpectralLayers for WideResNet {
    /// Every convolution, at the size of the images it sees.
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        let mut size = self.image;
        let mut layers = vec![SpectralLayer::convolution("first", &mut self.first.conv, size)];
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let stride = block.conv1.conv.stride[0];
            let name = |layer: &str| format!("blocks.{index}.{layer}");
            let (conv1, norm2) = (&mut block.conv1.conv, &mut block.norm2.norm);
            layers.push(SpectralLayer::convolution_with_norm(name("conv1"), conv1, norm2, size));
            if let Some(shortcut) = &mut block.shortcut {
                let shortcut = &mut shortcut.conv;
                layers.push(SpectralLayer::convolution(name("shortcut"), shortcut, size));
            }
            size = size.map(|length| length.div_ceil(stride));
            let conv2 = &mut block.conv2.conv;
            layers.push(SpectralLayer::convolution(name("conv2"), conv2, size));
        }
        layers
    }
}

impl Backbone for WideResNet {
    const NAME: &'static str = "wide_resnet";
    type Config = WideResNetConfig;
    type Batch = Tensor<4>;

    fn build(config: &WideResNetConfig, device: &Device) -> Result<Self> {
        config.check()?;
        let [channels, height, width] = config.image;
        let mut blocks = Vec::new();
        let mut before = 16;
        for (filters, stride) in config.groups() {
            for index in 0..(config.depth - 4) / 6 {
                let stride = if index == 0 { stride } else { 1 };
                blocks.push(Block::new(before, filters, stride, config.dropout, device));
                before = filters;
            }
        }
        Ok(Self {
            first: Convolution::new(channels, 16, 3, 1, device),
            blocks,
            norm: BatchNorm::new(before, device),
            image: [height, width],
            normalization: config.normalization.clone(),
        })
    }

    /// Images come with their channels first, `[batch, channels, height, width]`.
    fn forward(&self, batch: Tensor<4>, pass: &mut Pass) -> Tensor<2> {
        let images = images::prepared(batch, self.normalization.as_ref());
        let first = self.first.forward(images, None);
        let hidden = self.blocks.iter().fold(first, |hidden, block| block.forward(hidden, pass));
        sngp_kernels::mean_pool(self.norm.forward(hidden, pass))
    }

    fn width(config: &WideResNetConfig) -> usize {
        64 * config.widen
    }

    fn check(config: &WideResNetConfig, batch: &Tensor<4>) -> Result<()> {
        images::check_batch(config.image, batch)
    }

    /// A row is an image, channel by channel.
    fn input(config: &WideResNetConfig) -> InputShape {
        let [channels, height, width] = config.image;
        InputShape::Images { channels, height, width }
    }

    fn batch_of_rows(config: &WideResNetConfig, rows: Tensor<2>) -> Option<Tensor<4>> {
        images::of_rows(config.image, rows)
    }
}
