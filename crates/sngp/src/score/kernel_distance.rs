//! DUQ's distance to the nearest centroid.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;

/// 1 - max_c K_c, for models whose logits are ln K_c
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelDistance {}

impl ScoreFunction for KernelDistance {
    fn summary(&self) -> &'static str {
        "1 - max_c K_c, for models whose logits are ln K_c"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let rows = prediction.logits.axis_iter(Axis(0));
        let nearest = rows.map(|row| row.fold(f64::NEG_INFINITY, |a, &b| a.max(b)));
        Ok(nearest.map(|log_kernel| 1.0 - log_kernel.exp().min(1.0)).collect())
    }
}
