//! DUQ's distance to the nearest centroid.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::predict::Prediction;
use crate::{Error, Result};

/// 1 - max_c K_c, for models whose logits are ln K_c
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelDistance {}

impl ScoreFunction for KernelDistance {
    fn summary(&self) -> &'static str {
        "1 - max_c K_c, for models whose logits are ln K_c"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        // ln K is never positive (up to rounding), and such models have no variance.
        let is_kernel = prediction.logits.iter().all(|logit| *logit < 1e-6);
        if prediction.variance.is_some() || !is_kernel {
            let message = "kernel_distance is for DUQ; this model's logits are no kernels";
            return Err(Error::Unsupported(message.to_string()));
        }
        let rows = prediction.logits.axis_iter(Axis(0));
        let nearest = rows.map(|row| row.fold(f64::NEG_INFINITY, |a, &b| a.max(b)));
        Ok(nearest.map(|log_kernel| 1.0 - log_kernel.exp().min(1.0)).collect())
    }
}
