//! Two classes through one logit.

use burn::tensor::Tensor;
use burn::tensor::activation::softplus;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{LikelihoodFunction, single, two_classes};
use crate::data::{TargetBatch, Targets};
use crate::posterior::Curvature;
use crate::predict::{Integration, Predictive, expectation, sigmoid};
use crate::seed::{Purpose, stream};
use crate::{Error, Result};

/// `p(y = 1) = sigmoid(g)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bernoulli {}

impl LikelihoodFunction for Bernoulli {
    fn summary(&self) -> &'static str {
        "two classes, one logit"
    }

    fn outputs(&self, _: &Targets) -> usize {
        1
    }

    fn classes(&self, _: usize) -> usize {
        2
    }

    fn check(&self, targets: &Targets) -> Result<()> {
        match targets {
            Targets::Classes { classes: 2, .. } => Ok(()),
            Targets::Classes { classes, .. } => Err(Error::Data(format!(
                "the bernoulli likelihood is for 2 classes, not {classes}; use softmax"
            ))),
            Targets::Values(_) => Err(Error::Data(
                "the bernoulli likelihood needs class labels, not numbers".to_string(),
            )),
        }
    }

    fn loss(&self, logits: Tensor<2>, targets: &TargetBatch, _: Option<Tensor<1>>) -> Tensor<1> {
        let labels = targets.numbers().unsqueeze_dim(1);
        // -ln p = softplus(g) - y g
        (softplus(logits.clone(), 1.0) - labels * logits).mean()
    }

    fn curvatures(&self) -> &'static [Curvature] {
        &[Curvature::Bernoulli, Curvature::Gaussian]
    }

    fn predict(
        &self,
        logits: ArrayView2<'_, f64>,
        variance: Option<ArrayView2<'_, f64>>,
        integration: &Integration,
        _: Option<f64>,
    ) -> Result<Predictive> {
        integration.check()?;
        let draws = draws(integration);
        let probability = |(g, v): (f64, f64)| match *integration {
            Integration::MeanField { factor } => sigmoid(g / (1.0 + factor * v).sqrt()),
            Integration::Quadrature { points } => expectation(g, v, points, sigmoid),
            Integration::MonteCarlo { .. } => {
                draws.iter().map(|z| sigmoid(g + v.sqrt() * z)).sum::<f64>() / draws.len() as f64
            }
        };
        let ones = single(logits, variance).map(probability).collect();
        Ok(Predictive::Classes(two_classes(ones)))
    }
}

/// Standard normal draws shared by all rows; none unless sampling is asked for.
fn draws(integration: &Integration) -> Vec<f64> {
    use rand::RngExt;
    let Integration::MonteCarlo { samples, seed } = *integration else { return Vec::new() };
    let mut rng = stream(seed, Purpose::MonteCarlo, 0);
    (0..samples).map(|_| rng.sample(rand_distr::StandardNormal)).collect()
}
