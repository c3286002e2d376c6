//! A residual network that is trained in minutes.

use burn::module::Module;
use burn::tensor::{Device, Tensor, s};
use serde::{Deserialize, Serialize};
use sngp_kernels::{Activation, activate, max_pool};

use super::images::{self, Normalization};
use super::{Backbone, InputShape, Whitening};
use crate::nn::{BatchNorm, Convolution, Dropout, frozen};
use crate::spectral::{SpectralLayer, SpectralLayers};
use crate::{Error, Pass, Result};

/// Configuration of a [`WhitenedResNet`]; for CIFAR's images by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WhitenedResNetConfig {
    /// Channels of the three stages.
    pub widths: [usize; 3],
    /// Dropout rate inside of each residual block.
    pub dropout: f64,
    /// Channels, height and width of the images; the sizes are multiples of four from eight on.
    pub image: [usize; 3],
    /// How the channels are normalized.
    pub normalization: Option<Normalization>,
    /// The first layer, which is then not trained; without it, it is.
    pub whitening: Option<Whitening>,
}

impl Default for WhitenedResNetConfig {
    fn default() -> Self {
        Self {
            widths: [64, 256, 256],
            dropout: 0.0,
            image: [3, 32, 32],
            normalization: None,
            whitening: None,
        }
    }
}

impl WhitenedResNetConfig {
    fn check(&self) -> Result<()> {
        if self.widths.contains(&0) {
            return Err(Error::config("widths", format!("{:?}", self.widths), "none may be zero"));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::config("dropout", self.dropout, "it must be in [0, 1)"));
        }
        let [channels, height, width] = self.image;
        if height < 8 || width < 8 {
            let rule = "both sizes must be at least eight: they are halved three times";
            return Err(Error::config("image", format!("{:?}", self.image), rule));
        }
        images::check(self.image, self.normalization.as_ref())?;
        self.whitening.as_ref().map_or(Ok(()), |whitening| whitening.check(channels))
    }

    fn first(&self, device: &Device) -> Convolution {
        let channels = self.image[0];
        let mut first = Convolution::new(channels, 8 * channels, 3, 1, device);
        if let Some(whitening) = &self.whitening {
            first.conv.weight = frozen(whitening.kernels(channels, device));
        }
        first
    }
}

/// A residual network in the manner of those that hold CIFAR's records for little compute (Page,
/// 2019; Jordan, 2024): white patches of 2 x 2 pixels, three stages that halve the size,
/// `y = relu(norm(max_pool(conv(x))))` and then `y + relu(norm(conv(y)))`, and the largest value of
/// every channel.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::Pass;
/// use sngp::backbone::{Backbone, WhitenedResNet, WhitenedResNetConfig};
///
/// let device = Device::flex();
/// let config =
///     WhitenedResNetConfig { widths: [8, 16, 16], image: [3, 16, 16], ..Default::default() };
/// let network = WhitenedResNet::build(&config, &device)?;
/// let hidden = network.forward(Tensor::zeros([2, 3, 16, 16], &device), &mut Pass::evaluate());
/// assert_eq!(hidden.dims(), [2, 16]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct WhitenedResNet {
    first: Convolution,
    stages: Vec<Stage>,
    image: [usize; 2],
    #[module(skip)]
    normalization: Option<Normalization>,
}

#[derive(Module, Debug)]
struct Stage {
    conv: Convolution,
    norm: BatchNorm,
    residual: Convolution,
    residual_norm: BatchNorm,
    dropout: Dropout,
}

impl Stage {
    fn new(channels: usize, filters: usize, dropout: f64, device: &Device) -> Self {
        Self {
            conv: Convolution::new(channels, filters, 3, 1, device),
            norm: BatchNorm::new(filters, device),
            residual: Convolution::new(filters, filters, 3, 1, device),
            residual_norm: BatchNorm::new(filters, device),
            dropout: Dropout::new(dropout),
        }
    }

    fn forward(&self, input: Tensor<4>, pass: &mut Pass) -> Tensor<4> {
        let convolved = self.conv.forward(input, None);
        let [_, height, width, _] = convolved.dims();
        // Of an odd size, the last row or column is left out.
        let tiled = match (height % 2, width % 2) {
            (0, 0) => convolved,
            _ => convolved.slice(s![.., ..height / 2 * 2, ..width / 2 * 2]),
        };
        let pooled = max_pool(tiled, [2, 2]);
        let hidden = self.norm.forward(pooled, pass);
        let norm = &self.residual_norm;
        let residual = self.residual.forward_normalized(hidden.clone(), norm, None, pass);
        hidden + self.dropout.forward(residual, pass)
    }
}

impl SpectralLayers for WhitenedResNet {
    /// Every convolution of the stages, at the size of the images it sees. Pooling stretches no
    /// distance, so a convolution and the normalization behind it are bounded as one.
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        let mut size = self.image;
        let mut layers = Vec::new();
        for (index, stage) in self.stages.iter_mut().enumerate() {
            let name = |layer: &str| format!("stages.{index}.{layer}");
            let (conv, norm) = (&mut stage.conv.conv, &mut stage.norm.norm);
            layers.push(SpectralLayer::convolution_with_norm(name("conv"), conv, norm, size));
            size = size.map(|length| length / 2);
            let (conv, norm) = (&mut stage.residual.conv, &mut stage.residual_norm.norm);
            layers.push(SpectralLayer::convolution_with_norm(name("residual"), conv, norm, size));
        }
        layers
    }
}

impl Backbone for WhitenedResNet {
    const NAME: &'static str = "whitened_resnet";
    type Config = WhitenedResNetConfig;
    type Batch = Tensor<4>;

    fn build(config: &WhitenedResNetConfig, device: &Device) -> Result<Self> {
        config.check()?;
        let [channels, height, width] = config.image;
        let before = std::iter::once(8 * channels).chain(config.widths);
        let stage = |(before, filters)| Stage::new(before, filters, config.dropout, device);
        Ok(Self {
            first: config.first(device),
            stages: before.zip(config.widths).map(stage).collect(),
            image: [height, width],
            normalization: config.normalization.clone(),
        })
    }

    /// Images come with their channels first, `[batch, channels, height, width]`.
    fn forward(&self, batch: Tensor<4>, pass: &mut Pass) -> Tensor<2> {
        let images = images::prepared(batch, self.normalization.as_ref());
        let [height, width] = self.image;
        let patches = self.first.forward(continued(images), None).slice(s![.., ..height, ..width]);
        let patches = activate(patches, Activation::Relu);
        let hidden = self.stages.iter().fold(patches, |hidden, stage| stage.forward(hidden, pass));
        let [rows, height, width, channels] = hidden.dims();
        max_pool(hidden, [height, width]).reshape([rows, channels])
    }

    fn width(config: &WhitenedResNetConfig) -> usize {
        config.widths[2]
    }

    fn check(config: &WhitenedResNetConfig, batch: &Tensor<4>) -> Result<()> {
        images::check_batch(config.image, batch)
    }

    fn input(config: &WhitenedResNetConfig) -> InputShape {
        let [channels, height, width] = config.image;
        InputShape::Images { channels, height, width }
    }

    fn batch_of_rows(config: &WhitenedResNetConfig, rows: Tensor<2>) -> Option<Tensor<4>> {
        images::of_rows(config.image, rows)
    }
}

/// Images with their last row and column once more: whitened patches that hang over an edge would
/// see a step to zero there, and answer with values that no patch inside of an image has.
fn continued(images: Tensor<4>) -> Tensor<4> {
    let [_, height, width, _] = images.dims();
    let last = images.clone().slice(s![.., height - 1..height]);
    let images = Tensor::cat(vec![images, last], 1);
    let last = images.clone().slice(s![.., .., width - 1..width]);
    Tensor::cat(vec![images, last], 2)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Distribution, TensorData};

    use super::*;

    #[test]
    fn patches_over_the_edge_see_what_is_at_the_edge() {
        let device = Device::flex();
        let pixels: Vec<f32> = (0..6).map(|i| i as f32).collect();
        let image = Tensor::from_data(TensorData::new(pixels, [1, 2, 3, 1]), &device);
        let found: Vec<f32> = continued(image).into_data().iter::<f32>().collect();
        assert_eq!(found, [0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 3.0, 4.0, 5.0, 5.0]);
    }

    #[test]
    fn a_whitened_first_layer_is_not_trained_and_another_is() {
        let device = Device::flex().autodiff();
        let images = Tensor::<4>::random([4, 3, 8, 8], Distribution::Uniform(0.0, 1.0), &device);
        let whitening = Whitening::learn(images.clone().inner(), None).unwrap();
        for whitening in [None, Some(whitening)] {
            let config = WhitenedResNetConfig {
                widths: [4, 4, 4],
                image: [3, 8, 8],
                whitening: whitening.clone(),
                ..Default::default()
            };
            let network = WhitenedResNet::build(&config, &device).unwrap().train();
            let hidden = network.forward(images.clone(), &mut Pass::train(1));
            let gradients = hidden.sum().backward();
            let gradient = network.first.conv.weight.grad(&gradients);
            assert_eq!(gradient.is_some(), whitening.is_none());
            assert!(network.stages[0].conv.conv.weight.grad(&gradients).is_some());
        }
    }
}
