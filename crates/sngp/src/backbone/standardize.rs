//! Columns in units of their own.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::{Backbone, InputShape};
use crate::nn::frozen;
use crate::spectral::{SpectralLayers, Stage};
use crate::{Error, Pass, Result, host};

/// Nothing is more units away than this: squares of larger numbers are no finite f32.
pub const FARTHEST: f32 = 1e6;

/// Configuration of [`Standardize`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandardizeConfig {
    /// Dimension of the vectors.
    pub width: usize,
}

/// `(x - mean) * factor`, a mean and a factor a column, cut off at [`FARTHEST`]: for vectors whose
/// columns have units of their own. Nothing of it is trained.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::Pass;
/// use sngp::backbone::{Backbone, Standardize};
///
/// let device = Device::flex();
/// let units = Standardize::new(&[100.0, 0.0], &[0.1, 2.0], &device)?;
/// let vectors = Tensor::<2>::from_floats([[120.0, 0.5]], &device);
/// let output = units.forward(vectors, &mut Pass::evaluate());
/// assert_eq!(output.into_data(), Tensor::<2>::from_floats([[2.0, 1.0]], &device).into_data());
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct Standardize {
    mean: Param<Tensor<1>>,
    factor: Param<Tensor<1>>,
}

impl Standardize {
    /// One with these means and factors.
    pub fn new(mean: &[f32], factor: &[f32], device: &Device) -> Result<Self> {
        if mean.len() != factor.len() {
            return Err(Error::shape("factors of the columns", mean.len(), factor.len()));
        }
        if mean.is_empty() {
            return Err(Error::config("width", 0, "it must be at least 1"));
        }
        let row = |values: &[f32]| frozen(Tensor::from_data(TensorData::from(values), device));
        Ok(Self { mean: row(mean), factor: row(factor) })
    }
}

impl SpectralLayers for Standardize {}

impl Backbone for Standardize {
    const NAME: &'static str = "standardize";
    type Config = StandardizeConfig;
    type Batch = Tensor<2>;

    fn build(config: &StandardizeConfig, device: &Device) -> Result<Self> {
        Self::new(&vec![0.0; config.width], &vec![1.0; config.width], device)
    }

    fn forward(&self, batch: Tensor<2>, _pass: &mut Pass) -> Tensor<2> {
        let (mean, factor) = (self.mean.val().unsqueeze(), self.factor.val().unsqueeze());
        ((batch - mean) * factor).clamp(-FARTHEST, FARTHEST)
    }

    fn width(config: &StandardizeConfig) -> usize {
        config.width
    }

    fn check(config: &StandardizeConfig, batch: &Tensor<2>) -> Result<()> {
        match batch.dims()[1] {
            columns if columns == config.width => Ok(()),
            columns => Err(Error::shape("columns of the input", config.width, columns)),
        }
    }

    fn batch_of_rows(_config: &StandardizeConfig, rows: Tensor<2>) -> Option<Tensor<2>> {
        Some(rows)
    }

    fn input(config: &StandardizeConfig) -> InputShape {
        InputShape::Vectors { width: config.width }
    }

    fn stages(&self) -> Vec<Stage> {
        let factors = host::vector(self.factor.val());
        let fold =
            |start: f64, pick: fn(f64, f64) -> f64| factors.iter().copied().fold(start, pick);
        vec![Stage::Dense { smallest: fold(f64::INFINITY, f64::min), largest: fold(0.0, f64::max) }]
    }
}
