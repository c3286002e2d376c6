//! One dense layer between an encoder's vectors and the output.

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::backbone::{Backbone, InputShape};
use crate::nn::{Activation, Dense, Dropout};
use crate::spectral::{SpectralLayer, SpectralLayers, Stage};
use crate::{Error, Pass, Result};

/// What follows the pooler's product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolerActivation {
    /// Nothing: distances stay what the layer makes of them.
    #[default]
    Identity,
    /// The hyperbolic tangent, as in BERT's own pooler.
    Tanh,
}

/// Configuration of a [`Pooler`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolerConfig {
    /// Dimension of its inputs and outputs.
    pub width: usize,
    /// What follows the product.
    pub activation: PoolerActivation,
    /// Dropout rate of its inputs.
    pub dropout: f64,
}

impl Default for PoolerConfig {
    fn default() -> Self {
        Self { width: 384, activation: PoolerActivation::Identity, dropout: 0.0 }
    }
}

/// `activation(x W + b)`, started at the identity: the vectors of a pretrained encoder are good
/// already. On its own it is the backbone for vectors of an encoder that is not trained.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::Pass;
/// use sngp::backbone::{Backbone, Pooler, PoolerConfig};
///
/// let device = Device::flex();
/// let pooler = Pooler::build(&PoolerConfig { width: 3, ..Default::default() }, &device)?;
/// let vectors = Tensor::<2>::from_floats([[1.0, 2.0, 3.0]], &device);
/// let output = pooler.forward(vectors.clone(), &mut Pass::evaluate());
/// assert_eq!(output.into_data(), vectors.into_data());
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct Pooler {
    /// The layer.
    pub dense: Dense,
    dropout: Dropout,
    tanh: bool,
}

impl Pooler {
    /// The layer for normalization, under the given name.
    pub(super) fn layer(&mut self, name: &str) -> Vec<SpectralLayer<'_>> {
        vec![SpectralLayer::dense(name, &mut self.dense.linear)]
    }
}

impl SpectralLayers for Pooler {
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        self.layer("dense")
    }
}

impl Backbone for Pooler {
    const NAME: &'static str = "pooler";
    type Config = PoolerConfig;
    type Batch = Tensor<2>;

    fn build(config: &PoolerConfig, device: &Device) -> Result<Self> {
        if config.width == 0 {
            return Err(Error::config("width", 0, "it must be at least 1"));
        }
        if !(0.0..1.0).contains(&config.dropout) {
            return Err(Error::config("dropout", config.dropout, "it must be in [0, 1)"));
        }
        let identity = Linear {
            weight: Param::from_tensor(Tensor::eye(config.width, device)),
            bias: Some(Param::from_tensor(Tensor::zeros([config.width], device))),
        };
        Ok(Self {
            dense: identity.into(),
            dropout: Dropout::new(config.dropout),
            tanh: config.activation == PoolerActivation::Tanh,
        })
    }

    fn forward(&self, batch: Tensor<2>, pass: &mut Pass) -> Tensor<2> {
        let input = self.dropout.forward(batch, pass);
        let output = self.dense.forward(input, Activation::Identity, None);
        if self.tanh { output.tanh() } else { output }
    }

    fn width(config: &PoolerConfig) -> usize {
        config.width
    }

    fn check(config: &PoolerConfig, batch: &Tensor<2>) -> Result<()> {
        match batch.dims()[1] {
            columns if columns == config.width => Ok(()),
            columns => Err(Error::shape("columns of the input", config.width, columns)),
        }
    }

    fn batch_of_rows(_config: &PoolerConfig, rows: Tensor<2>) -> Option<Tensor<2>> {
        Some(rows)
    }

    fn input(config: &PoolerConfig) -> InputShape {
        InputShape::Vectors { width: config.width }
    }

    fn stages(&self) -> Vec<Stage> {
        if self.tanh { Vec::new() } else { vec![Stage::dense(&self.dense.linear)] }
    }
}
