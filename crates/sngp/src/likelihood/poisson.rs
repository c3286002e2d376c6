//! Counts.

use burn::tensor::Tensor;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{LikelihoodFunction, single};
use crate::data::{TargetBatch, Targets};
use crate::posterior::Curvature;
use crate::predict::{Integration, Predictive};
use crate::{Error, Result};

/// `y ~ Poisson(exp(g))`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Poisson {}

impl LikelihoodFunction for Poisson {
    fn summary(&self) -> &'static str {
        "a count with rate exp(logit)"
    }

    fn outputs(&self, _: &Targets) -> usize {
        1
    }

    fn check(&self, targets: &Targets) -> Result<()> {
        let Targets::Values(values) = targets else {
            let message = "the poisson likelihood needs counts, not class labels";
            return Err(Error::Data(message.to_string()));
        };
        match values.iter().position(|value| *value < 0.0 || value.fract() != 0.0) {
            None => Ok(()),
            Some(row) => {
                Err(Error::Data(format!("row {row}: {} is not a count (0, 1, 2, ..)", values[row])))
            }
        }
    }

    fn loss(&self, logits: Tensor<2>, targets: &TargetBatch, _: Option<Tensor<1>>) -> Tensor<1> {
        let counts = targets.numbers().unsqueeze_dim(1);
        // Without ln y!, which no parameter changes.
        (logits.clone().exp() - counts * logits).mean()
    }

    fn curvatures(&self) -> &'static [Curvature] {
        &[Curvature::Poisson, Curvature::Gaussian]
    }

    fn predict(
        &self,
        logits: ArrayView2<'_, f64>,
        variance: Option<ArrayView2<'_, f64>>,
        _: &Integration,
        _: Option<f64>,
    ) -> Result<Predictive> {
        // The mean of a log-normal rate is exact, so there is nothing to approximate.
        Ok(Predictive::Rate(single(logits, variance).map(|(g, v)| (g + v / 2.0).exp()).collect()))
    }
}
