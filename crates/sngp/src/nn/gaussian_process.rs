//! The random-feature Gaussian-process output layer.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use ndarray::ArrayView2;
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};
use sngp_kernels::{Activation, Prepared};

use super::dense::matrix;
use super::features::{RandomFeatures, RandomFeaturesConfig};
use crate::seed::{Purpose, stream};
use crate::{Error, Result};

/// Configuration of a [`GaussianProcess`] layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GaussianProcessConfig {
    /// The frozen feature map.
    pub features: RandomFeaturesConfig,
    /// Factor on the features before `beta`: 1 is the published text (`sqrt(2/D)` features);
    /// `sqrt(D/2)` the public code. The same model under another learning rate for `beta`.
    pub feature_gain: f64,
    /// Strength of the Gaussian prior on `beta`, as a multiple of `N(0, I)`'s penalty.
    pub l2: f64,
    /// Whether the logits get a bias.
    pub bias: bool,
}

impl Default for GaussianProcessConfig {
    fn default() -> Self {
        Self { features: RandomFeaturesConfig::default(), feature_gain: 1.0, l2: 1.0, bias: false }
    }
}

/// Logits `g_k = gain * phi(h) . beta_k`, the mean of the Gaussian process.
///
/// Their variance comes from the Laplace posterior, which is accumulated from the same features
/// after training: see [`posterior`](crate::posterior).
#[derive(Module, Debug)]
pub struct GaussianProcess {
    features: RandomFeatures,
    beta: Param<Tensor<2>>,
    bias: Option<Param<Tensor<1>>>,
    feature_gain: f64,
    #[module(skip)]
    prepared: Prepared,
}

/// What a [`GaussianProcess`] layer gives for a batch.
#[derive(Clone, Debug)]
pub struct GpOutput {
    /// Mean logits `[rows, outputs]`.
    pub logits: Tensor<2>,
    /// Features `[rows, D]` with `phi . phi ~ 1`, whatever the gain.
    pub features: Tensor<2>,
}

impl GaussianProcessConfig {
    /// Draws the layer for `inputs` hidden units and `outputs` logits.
    pub fn init(
        &self,
        inputs: usize,
        outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<GaussianProcess> {
        if !(self.l2.is_finite() && self.l2 >= 0.0) {
            return Err(Error::config("l2", self.l2, "it must be finite and not negative"));
        }
        if !(self.feature_gain.is_finite() && self.feature_gain > 0.0) {
            return Err(Error::config("feature_gain", self.feature_gain, "it must be positive"));
        }
        let features = self.features.init(inputs, seed, device)?;
        let count = features.count();
        let mut rng = stream(seed, Purpose::Features, 1);
        // Small enough that the first logits are near zero, large enough to break the tie.
        let scale = 1.0 / (count as f32).sqrt();
        let beta: Vec<f32> =
            (0..count * outputs).map(|_| scale * rng.sample::<f32, _>(StandardNormal)).collect();
        let beta = Tensor::from_data(TensorData::new(beta, [count, outputs]), device);
        Ok(GaussianProcess {
            features,
            beta: Param::from_tensor(beta),
            bias: self.bias.then(|| Param::from_tensor(Tensor::zeros([outputs], device))),
            feature_gain: self.feature_gain,
            prepared: Prepared::default(),
        })
    }
}

impl GaussianProcess {
    /// A layer from given features and output weights `[D, outputs]`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use ndarray::array;
    /// use sngp::nn::{GaussianProcess, RandomFeatures};
    ///
    /// let device = Device::flex();
    /// let features = RandomFeatures::from_weights(array![[0.0, 0.0]].view(), &[0.0, 0.0], 1.0, &device)?;
    /// let layer = GaussianProcess::from_weights(features, array![[1.0], [2.0]].view(), None)?;
    /// let output = layer.forward(Tensor::from_floats([[5.0]], &device));
    /// assert_eq!(output.logits.into_scalar::<f32>(), 3.0);
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn from_weights(
        features: RandomFeatures,
        beta: ArrayView2<'_, f32>,
        bias: Option<&[f32]>,
    ) -> Result<Self> {
        if beta.nrows() != features.count() {
            return Err(Error::shape("rows of beta", features.count(), beta.nrows()));
        }
        if let Some(bias) = bias.filter(|bias| bias.len() != beta.ncols()) {
            return Err(Error::shape("biases of the logits", beta.ncols(), bias.len()));
        }
        let device = features.forward_device();
        Ok(Self {
            features,
            beta: Param::from_tensor(matrix(beta, &device)),
            bias: bias.map(|bias| Param::from_data(TensorData::from(bias), &device)),
            feature_gain: 1.0,
            prepared: Prepared::default(),
        })
    }

    /// The same layer with another factor on its features.
    pub fn with_feature_gain(mut self, gain: f64) -> Self {
        self.feature_gain = gain;
        self
    }

    /// The factor on the features before `beta`.
    pub fn feature_gain(&self) -> f64 {
        self.feature_gain
    }

    /// The same layer with other output weights `[D, outputs]`, row by row.
    pub(crate) fn with_beta(self, values: Vec<f32>) -> Result<Self> {
        let shape = self.beta.dims();
        if values.len() != shape[0] * shape[1] {
            return Err(Error::shape("entries of beta", shape[0] * shape[1], values.len()));
        }
        let beta = Tensor::from_data(TensorData::new(values, shape), &self.beta.val().device());
        Ok(Self { beta: Param::from_tensor(beta), prepared: Prepared::default(), ..self })
    }

    /// The weights `[D, outputs]` of the features without gain, row by row.
    pub(crate) fn weights(&self) -> Vec<f64> {
        let mut weights = crate::host::vector(self.beta.val());
        weights.iter_mut().for_each(|weight| *weight *= self.feature_gain);
        weights
    }

    /// Mean logits and features.
    ///
    /// # Shapes
    /// - hidden: `[rows, inputs]`
    pub fn forward(&self, hidden: Tensor<2>) -> GpOutput {
        let features = self.features.forward(hidden);
        let scaled = match self.feature_gain {
            1.0 => features.clone(),
            gain => features.clone() * gain,
        };
        let logits = sngp_kernels::linear(
            scaled,
            self.beta.val(),
            self.bias.as_ref().map(Param::val),
            Activation::Identity,
            None,
            Some(&self.prepared),
        );
        GpOutput { logits, features }
    }

    /// `||gain beta||^2 / 2`, the negative log density of the prior up to a constant. The prior
    /// is one on the weights of the unscaled features, so that the gain changes no model.
    pub fn prior_penalty(&self) -> Tensor<1> {
        self.beta.val().square().sum() * (0.5 * self.feature_gain * self.feature_gain)
    }

    /// The feature map.
    pub fn features(&self) -> &RandomFeatures {
        &self.features
    }

    /// The number of logits.
    pub fn outputs(&self) -> usize {
        self.beta.dims()[1]
    }
}
