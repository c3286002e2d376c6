//! The Laplace posterior for a training loop of one's own.

use burn::module::Module;
use burn::tensor::Device;
use sha2::{Digest, Sha256};

use super::{Curvature, FeatureMapHash, Posterior, Precision};
use crate::likelihood::{LikelihoodFunction, Softmax};
use crate::network::weights_digest;
use crate::nn::{GaussianProcess, GpOutput};
use crate::predict::{Integration, Prediction};
use crate::{Result, host};

/// What a layer's posterior is accumulated in, batch by batch, once the network is trained. It
/// knows the layer's sizes and feature map; sums of the same layer from several machines
/// [merge](Self::merge).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::nn::GaussianProcessConfig;
/// use sngp::posterior::Curvature;
/// use sngp::predict::Integration;
///
/// let device = Device::flex();
/// let layer = GaussianProcessConfig::default().init(2, 3, 0, &device)?;
/// let hidden = || Tensor::<2>::from_floats([[0.0, 1.0], [1.0, 0.0]], &device);
/// let mut laplace = layer.laplace(Curvature::Gaussian);
/// laplace.add(&layer.forward(hidden()))?;
/// let posterior = laplace.finish(1.0, &device)?;
/// let near = posterior.predict(&layer.forward(hidden()), &Integration::default())?;
/// let far = posterior.predict(&layer.forward(hidden() * 50.0), &Integration::default())?;
/// assert!(far.variance.unwrap()[[0, 0]] > near.variance.unwrap()[[0, 0]]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Laplace {
    precision: Precision,
}

impl GaussianProcess {
    /// An empty posterior of this layer.
    pub fn laplace(&self, curvature: Curvature) -> Laplace {
        let mut hasher = Sha256::new();
        hasher.update(weights_digest(&self.features().clone().no_grad()));
        hasher.update(self.features().length_scale().to_le_bytes());
        let hash = FeatureMapHash(hasher.finalize().into());
        let count = self.features().count();
        Laplace { precision: Precision::new(count, self.outputs(), curvature, hash) }
    }
}

impl Laplace {
    /// Adds a batch. Gradients, where they are tracked, are left out of it.
    pub fn add(&mut self, output: &GpOutput) -> Result<()> {
        let features = host::matrix_f32(output.features.clone());
        let logits = host::matrix(output.logits.clone());
        self.precision.add(features.view(), logits.view())
    }

    /// Adds the sum of other rows of the same layer.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.precision.merge(&other.precision)
    }

    /// Adds the ridge and factorizes. The sum is kept: more rows may be added and finished again.
    pub fn finish(&self, ridge: f64, device: &Device) -> Result<Posterior> {
        Posterior::finish(self.precision.clone(), ridge, device)
    }

    /// The sum.
    pub fn precision(&self) -> &Precision {
        &self.precision
    }
}

impl Posterior {
    /// The predictive distribution over the classes of a batch, with its variance.
    pub fn predict(&self, output: &GpOutput, integration: &Integration) -> Result<Prediction> {
        let logits = host::matrix(output.logits.clone());
        let variance = host::matrix(self.variance(&output.features));
        let predictive =
            Softmax {}.predict(logits.view(), Some(variance.view()), integration, None)?;
        Ok(Prediction {
            predictive,
            logits,
            variance: Some(variance),
            mean_field_factor: integration.mean_field_factor(),
            hidden: None,
            detectors: None,
            combination: None,
        })
    }
}
