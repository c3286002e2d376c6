//! A residual feed-forward network for vectors.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};
use sngp_kernels::Activation;

use super::{Backbone, InputShape};
use crate::nn::{Dropout, dense};
use crate::spectral::{SpectralLayer, SpectralLayers, Stage};
use crate::{Error, Pass, Result};

/// Configuration of a [`ResFfn`]; the paper's ResFFN-12-128 by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResFfnConfig {
    /// Dimension of the inputs.
    pub inputs: usize,
    /// Number of residual blocks.
    pub depth: usize,
    /// Units of each block.
    pub width: usize,
    /// Dropout rate of each block.
    pub dropout: f64,
}

impl Default for ResFfnConfig {
    fn default() -> Self {
        Self { inputs: 2, depth: 12, width: 128, dropout: 0.01 }
    }
}

/// `h_0 = A x`, then `h_l = h_{l-1} + dropout(relu(W_l h_{l-1} + b_l))`.
///
/// The first layer `A` only lifts the input to the width of the blocks; it is frozen, so that
/// the distances the blocks have to preserve are the input's own.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::Pass;
/// use sngp::backbone::{Backbone, ResFfn, ResFfnConfig};
///
/// let device = Device::flex();
/// let network = ResFfn::build(&ResFfnConfig { depth: 3, width: 16, ..Default::default() }, &device)?;
/// let hidden = network.forward(Tensor::zeros([5, 2], &device), &mut Pass::evaluate());
/// assert_eq!(hidden.dims(), [5, 16]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct ResFfn {
    lift: Linear,
    blocks: Vec<Linear>,
    dropout: Dropout,
}

impl ResFfn {
    /// A network from given layers: `lift` and one square layer a block.
    pub fn from_layers(lift: Linear, blocks: Vec<Linear>, dropout: f64) -> Self {
        Self { lift, blocks, dropout: Dropout::new(dropout) }
    }
}

impl SpectralLayers for ResFfn {
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        let named = self.blocks.iter_mut().enumerate();
        named.map(|(index, block)| SpectralLayer::dense(format!("blocks.{index}"), block)).collect()
    }
}

impl Backbone for ResFfn {
    const NAME: &'static str = "res_ffn";
    type Config = ResFfnConfig;
    type Batch = Tensor<2>;

    fn build(config: &ResFfnConfig, device: &Device) -> Result<Self> {
        for (what, value) in [("inputs", config.inputs), ("width", config.width)] {
            if value == 0 {
                return Err(Error::config(what, value, "it must be at least 1"));
            }
        }
        if !(0.0..1.0).contains(&config.dropout) {
            return Err(Error::config("dropout", config.dropout, "it must be in [0, 1)"));
        }
        let block = LinearConfig::new(config.width, config.width);
        Ok(Self::from_layers(
            LinearConfig::new(config.inputs, config.width).init(device).no_grad(),
            (0..config.depth).map(|_| block.init(device)).collect(),
            config.dropout,
        ))
    }

    fn forward(&self, batch: Tensor<2>, pass: &mut Pass) -> Tensor<2> {
        let lifted = dense(&self.lift, batch, Activation::Identity, None);
        self.blocks.iter().fold(lifted, |hidden, block| {
            if self.dropout.is_active(pass) {
                let residual = dense(block, hidden.clone(), Activation::Relu, None);
                hidden + self.dropout.forward(residual, pass)
            } else {
                dense(block, hidden.clone(), Activation::Relu, Some(hidden))
            }
        })
    }

    fn width(config: &ResFfnConfig) -> usize {
        config.width
    }

    fn check(config: &ResFfnConfig, batch: &Tensor<2>) -> Result<()> {
        let columns = batch.dims()[1];
        if columns == config.inputs {
            return Ok(());
        }
        Err(Error::shape("columns of the input", config.inputs, columns))
    }

    fn batch_of_rows(_config: &ResFfnConfig, rows: Tensor<2>) -> Option<Tensor<2>> {
        Some(rows)
    }

    fn input(config: &ResFfnConfig) -> InputShape {
        InputShape::Vectors { width: config.inputs }
    }

    fn stages(&self) -> Vec<Stage> {
        let blocks = (0..self.blocks.len()).map(|index| Stage::residual(format!("blocks.{index}")));
        std::iter::once(Stage::dense(&self.lift)).chain(blocks).collect()
    }
}
