//! No hidden mapping at all.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{Backbone, InputShape};
use crate::spectral::{SpectralLayers, Stage};
use crate::{Error, Pass, Result};

/// Configuration of [`Identity`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityConfig {
    /// Dimension of the vectors.
    pub width: usize,
}

/// Vectors as they are: the output layer directly on embeddings of another model, or on prepared
/// columns of a table. No mapping keeps distances better.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::Pass;
/// use sngp::backbone::{Backbone, Identity, IdentityConfig};
///
/// let device = Device::flex();
/// let identity = Identity::build(&IdentityConfig { width: 2 }, &device)?;
/// let vectors = Tensor::<2>::from_floats([[1.0, 2.0]], &device);
/// let output = identity.forward(vectors.clone(), &mut Pass::evaluate());
/// assert_eq!(output.into_data(), vectors.into_data());
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct Identity {
    width: usize,
}

impl SpectralLayers for Identity {}

impl Backbone for Identity {
    const NAME: &'static str = "identity";
    type Config = IdentityConfig;
    type Batch = Tensor<2>;

    fn build(config: &IdentityConfig, _device: &Device) -> Result<Self> {
        match config.width {
            0 => Err(Error::config("width", 0, "it must be at least 1")),
            width => Ok(Self { width }),
        }
    }

    fn forward(&self, batch: Tensor<2>, _pass: &mut Pass) -> Tensor<2> {
        batch
    }

    fn width(config: &IdentityConfig) -> usize {
        config.width
    }

    fn check(config: &IdentityConfig, batch: &Tensor<2>) -> Result<()> {
        match batch.dims()[1] {
            columns if columns == config.width => Ok(()),
            columns => Err(Error::shape("columns of the input", config.width, columns)),
        }
    }

    fn batch_of_rows(_config: &IdentityConfig, rows: Tensor<2>) -> Option<Tensor<2>> {
        Some(rows)
    }

    fn input(config: &IdentityConfig) -> InputShape {
        InputShape::Vectors { width: config.width }
    }

    fn stages(&self) -> Vec<Stage> {
        vec![Stage::Dense { smallest: 1.0, largest: 1.0 }]
    }
}
