//! Everything a fitted model computes with, by name.

use super::tensors::Tensors;
use crate::Result;

/// The parameters of a model's networks and their finished posteriors, under the names of
/// `model.safetensors`: what is needed to write the model down for another program.
///
/// ```
/// use burn::tensor::Device;
/// use ndarray::array;
/// use sngp::backbone::{Identity, IdentityConfig};
/// use sngp::data::{Labelled, Table, Targets};
/// use sngp::model::{AnyModel, Estimator, FitOptions, ModelConfig};
///
/// let inputs = Table::new(array![[0.0, 0.0], [1.0, 1.0]].view())?;
/// let data = Labelled::new(inputs, Targets::classes(vec![0, 1], 2)?)?;
/// let mut config = ModelConfig::default();
/// config.gaussian_process.features.count = 8;
/// let estimator = Estimator::<Identity>::new(config, IdentityConfig { width: 2 });
/// let (model, _) = estimator.fit_output(&data, FitOptions::new(&Device::flex()))?;
/// let mut parameters = AnyModel::parameters(&model);
/// let (shape, _) = parameters.take("members.0.head.GaussianProcess.beta")?;
/// assert_eq!(shape, [8, 2]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Debug)]
pub struct Parameters(pub(super) Tensors);

impl Parameters {
    /// Takes the shape and the values of one, row by row.
    pub fn take(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        self.0.take_f32(name)
    }

    /// Whether there is one of a name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}
