//! How logits turn into an outcome.
//!
//! A likelihood is one file here and one line in [`Likelihood`].

mod bernoulli;
mod gaussian;
mod poisson;
mod softmax;

pub use bernoulli::Bernoulli;
pub use gaussian::{Gaussian, Noise};
pub use poisson::Poisson;
pub use softmax::Softmax;

use burn::tensor::Tensor;
use ndarray::{Array2, ArrayView2};

use crate::data::{TargetBatch, Targets};
use crate::posterior::Curvature;
use crate::predict::{Integration, Predictive};
use crate::{Error, Result};

/// What a likelihood provides.
pub trait LikelihoodFunction {
    /// One line for listings.
    fn summary(&self) -> &'static str;

    /// The number of logits for the given targets.
    fn outputs(&self, targets: &Targets) -> usize;

    /// The number of classes behind so many logits; none where numbers are predicted.
    fn classes(&self, _outputs: usize) -> usize {
        0
    }

    /// Refuses targets it cannot explain.
    fn check(&self, targets: &Targets) -> Result<()>;

    /// Mean negative log likelihood `[1]` of logits `[rows, outputs]`. `log_noise` is the learned
    /// log variance of likelihoods that [have one](Self::initial_log_noise).
    fn loss(
        &self,
        logits: Tensor<2>,
        targets: &TargetBatch,
        log_noise: Option<Tensor<1>>,
    ) -> Tensor<1>;

    /// The start of the learned log noise variance, for likelihoods with one.
    fn initial_log_noise(&self) -> Option<f64> {
        None
    }

    /// The curvatures that make sense, the default one first.
    fn curvatures(&self) -> &'static [Curvature];

    /// What the posterior's ridge is multiplied with. Under noise `n` the covariance of `beta` is
    /// `(I + P / n)^-1 = n (n I + P)^-1`: the noise takes the ridge's place.
    fn ridge_factor(&self, _log_noise: Option<f64>) -> f64 {
        1.0
    }

    /// The predictive distribution for mean logits and, with a posterior, their variance.
    /// `log_noise` is the learned log noise variance, if there is one.
    fn predict(
        &self,
        logits: ArrayView2<'_, f64>,
        variance: Option<ArrayView2<'_, f64>>,
        integration: &Integration,
        log_noise: Option<f64>,
    ) -> Result<Predictive>;
}

crate::registry! {
    /// The likelihoods, one line each.
    pub enum Likelihood as "likelihood": LikelihoodFunction {
        "softmax" => Softmax(Softmax),
        "bernoulli" => Bernoulli(Bernoulli),
        "gaussian" => Gaussian(Gaussian),
        "poisson" => Poisson(Poisson),
    }
}

impl Default for Likelihood {
    fn default() -> Self {
        Self::Softmax(Softmax {})
    }
}

impl Likelihood {
    /// The given curvature if it makes sense here, the default one if none is given.
    pub fn curvature(&self, wanted: Option<Curvature>) -> Result<Curvature> {
        let known = self.curvatures();
        match wanted {
            None => Ok(known[0]),
            Some(curvature) if known.contains(&curvature) => Ok(curvature),
            Some(curvature) => Err(Error::Unsupported(format!(
                "the {self} likelihood has no {curvature:?} curvature; it has {known:?}"
            ))),
        }
    }
}

/// The one logit of every row and its variance (zero without a posterior).
fn single<'a>(
    logits: ArrayView2<'a, f64>,
    variance: Option<ArrayView2<'a, f64>>,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    (0..logits.nrows()).map(move |i| (logits[[i, 0]], variance.map_or(0.0, |v| v[[i, 0]])))
}

/// Probabilities `[rows, 2]` from those of class one.
fn two_classes(ones: Vec<f64>) -> Array2<f64> {
    Array2::from_shape_fn((ones.len(), 2), |(i, k)| if k == 1 { ones[i] } else { 1.0 - ones[i] })
}
