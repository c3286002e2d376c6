//! Several classes.

use burn::tensor::Tensor;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};
use sngp_kernels::log_softmax;

use super::LikelihoodFunction;
use crate::data::{TargetBatch, Targets};
use crate::posterior::Curvature;
use crate::predict::{Integration, Predictive};
use crate::{Error, Result};

/// `p(y = k) = softmax(g)_k`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Softmax {}

impl LikelihoodFunction for Softmax {
    fn summary(&self) -> &'static str {
        "classes, one logit each"
    }

    fn outputs(&self, targets: &Targets) -> usize {
        match targets {
            Targets::Classes { classes, .. } => *classes,
            Targets::Values(_) => 1,
        }
    }

    fn classes(&self, outputs: usize) -> usize {
        outputs
    }

    fn check(&self, targets: &Targets) -> Result<()> {
        match targets {
            Targets::Classes { .. } => Ok(()),
            Targets::Values(_) => Err(Error::Data(
                "the softmax likelihood needs class labels, not numbers".to_string(),
            )),
        }
    }

    fn loss(&self, logits: Tensor<2>, targets: &TargetBatch, _: Option<Tensor<1>>) -> Tensor<1> {
        let labels = match targets {
            TargetBatch::Classes(labels) => labels.clone(),
            TargetBatch::Values(values) => values.clone().int(),
        };
        log_softmax(logits).gather(1, labels.unsqueeze_dim(1)).mean().neg()
    }

    fn curvatures(&self) -> &'static [Curvature] {
        &[Curvature::SharedMax, Curvature::PerClass, Curvature::Gaussian]
    }

    fn predict(
        &self,
        logits: ArrayView2<'_, f64>,
        variance: Option<ArrayView2<'_, f64>>,
        integration: &Integration,
        _: Option<f64>,
    ) -> Result<Predictive> {
        Ok(Predictive::Classes(integration.softmax(logits, variance)?))
    }
}
