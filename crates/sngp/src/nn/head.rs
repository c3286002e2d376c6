//! The output layers a network can have.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{
    Activation, GaussianProcess, GaussianProcessConfig, RbfCentroids, RbfCentroidsConfig, dense,
};
use crate::{Error, Result};

/// Which output layer, and its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HeadConfig {
    /// A dense layer.
    Dense,
    /// The random-feature Gaussian process.
    GaussianProcess(GaussianProcessConfig),
    /// DUQ's RBF centroids.
    RbfCentroids(RbfCentroidsConfig),
}

/// An output layer.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "one a network, and a Burn module cannot be boxed")]
pub enum Head {
    /// A dense layer.
    Dense(Linear),
    /// The random-feature Gaussian process.
    GaussianProcess(GaussianProcess),
    /// DUQ's RBF centroids.
    RbfCentroids(RbfCentroids),
}

/// What a head gives for a batch.
#[derive(Clone, Debug)]
pub struct HeadOutput {
    /// Logits `[rows, outputs]`; for RBF centroids the logarithms of the kernels.
    pub logits: Tensor<2>,
    /// The Gaussian process's features `[rows, D]`.
    pub features: Option<Tensor<2>>,
}

impl HeadConfig {
    /// Draws the layer.
    pub fn init(&self, inputs: usize, outputs: usize, seed: u64, device: &Device) -> Result<Head> {
        Ok(match self {
            Self::Dense => Head::Dense(LinearConfig::new(inputs, outputs).init(device)),
            Self::GaussianProcess(config) => {
                Head::GaussianProcess(config.init(inputs, outputs, seed, device)?)
            }
            Self::RbfCentroids(config) => {
                Head::RbfCentroids(config.init(inputs, outputs, seed, device)?)
            }
        })
    }
}

impl Head {
    /// The number of logits.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Dense(linear) => linear.weight.dims()[1],
            Self::GaussianProcess(gp) => gp.outputs(),
            Self::RbfCentroids(rbf) => rbf.centroids().dims()[0],
        }
    }

    /// Refuses a layer of another kind or size than one drawn by the configuration would be.
    pub(crate) fn check(&self, wanted: &HeadConfig, inputs: usize, outputs: usize) -> Result<()> {
        let (alike, own_inputs) = match (self, wanted) {
            (Self::Dense(linear), HeadConfig::Dense) => (true, linear.weight.dims()[0]),
            (Self::GaussianProcess(gp), HeadConfig::GaussianProcess(config)) => {
                let features = gp.features();
                (features.count() == config.features.dimension(inputs), features.inputs())
            }
            (Self::RbfCentroids(rbf), HeadConfig::RbfCentroids(_)) => (true, rbf.inputs()),
            _ => (false, inputs),
        };
        if !alike {
            let message = "the given output layer is not of the method's kind and size";
            return Err(Error::Unsupported(message.to_string()));
        }
        if (own_inputs, self.outputs()) != (inputs, outputs) {
            let sizes = |inputs, outputs| format!("{inputs} to {outputs}");
            let (expected, found) = (sizes(inputs, outputs), sizes(own_inputs, self.outputs()));
            return Err(Error::shape("sizes of the given output layer", expected, found));
        }
        Ok(())
    }

    /// Applies the layer.
    ///
    /// # Shapes
    /// - hidden: `[rows, inputs]`
    pub fn forward(&self, hidden: Tensor<2>) -> HeadOutput {
        match self {
            Self::Dense(linear) => HeadOutput {
                logits: dense(linear, hidden, Activation::Identity, None),
                features: None,
            },
            Self::GaussianProcess(gp) => {
                let output = gp.forward(hidden);
                HeadOutput { logits: output.logits, features: Some(output.features) }
            }
            Self::RbfCentroids(rbf) => {
                HeadOutput { logits: rbf.log_kernel(hidden), features: None }
            }
        }
    }
}
