//! The output layers a network can have.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{
    Activation, GaussianProcess, GaussianProcessConfig, RbfCentroids, RbfCentroidsConfig, dense,
};
use crate::Result;

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
