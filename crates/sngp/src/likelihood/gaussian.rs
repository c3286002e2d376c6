//! Regression.

use burn::tensor::Tensor;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{LikelihoodFunction, single};
use crate::data::{TargetBatch, Targets};
use crate::posterior::Curvature;
use crate::predict::{Integration, Predictive};
use crate::{Error, Result};

/// `y ~ N(g, noise)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gaussian {
    /// The noise variance.
    #[serde(default)]
    pub noise: Noise,
}

/// Where the noise variance comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Learned with the network.
    #[default]
    Learned,
    /// Known.
    Given(f64),
}

impl Gaussian {
    fn variance(&self, log_noise: Option<f64>) -> f64 {
        match self.noise {
            Noise::Given(noise) => noise,
            Noise::Learned => log_noise.unwrap_or(0.0).exp(),
        }
    }
}

impl LikelihoodFunction for Gaussian {
    fn summary(&self) -> &'static str {
        "a number with normal noise, learned or given"
    }

    fn outputs(&self, _: &Targets) -> usize {
        1
    }

    fn check(&self, targets: &Targets) -> Result<()> {
        if let Noise::Given(noise) = self.noise
            && !(noise.is_finite() && noise > 0.0)
        {
            return Err(Error::config("the noise variance", noise, "it must be positive"));
        }
        match targets {
            Targets::Values(_) => Ok(()),
            Targets::Classes { .. } => Err(Error::Data(
                "the gaussian likelihood needs numbers, not class labels".to_string(),
            )),
        }
    }

    fn loss(
        &self,
        logits: Tensor<2>,
        targets: &TargetBatch,
        log_noise: Option<Tensor<1>>,
    ) -> Tensor<1> {
        let error = (logits - targets.numbers().unsqueeze_dim(1)).square().mean();
        let log_noise = match (self.noise, log_noise) {
            (Noise::Given(noise), _) => Tensor::<1>::full([1], noise.ln(), &error.device()),
            (Noise::Learned, Some(log_noise)) => log_noise,
            (Noise::Learned, None) => Tensor::<1>::zeros([1], &error.device()),
        };
        // -ln N(y; g, n) = (ln 2 pi + ln n + (y - g)^2 / n) / 2
        (error / log_noise.clone().exp() + log_noise + std::f64::consts::TAU.ln()) * 0.5
    }

    fn initial_log_noise(&self) -> Option<f64> {
        (self.noise == Noise::Learned).then_some(0.0)
    }

    fn curvatures(&self) -> &'static [Curvature] {
        &[Curvature::Gaussian]
    }

    fn ridge_factor(&self, log_noise: Option<f64>) -> f64 {
        self.variance(log_noise)
    }

    fn predict(
        &self,
        logits: ArrayView2<'_, f64>,
        variance: Option<ArrayView2<'_, f64>>,
        _: &Integration,
        log_noise: Option<f64>,
    ) -> Result<Predictive> {
        let noise = self.variance(log_noise);
        let (mean, variance) = single(logits, variance).map(|(g, v)| (g, v + noise)).unzip();
        Ok(Predictive::Normal { mean, variance })
    }
}
