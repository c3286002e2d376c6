//! How far the best class is from certain.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;

/// 1 - max_k p_k
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaxProbability {}

impl ScoreFunction for MaxProbability {
    fn summary(&self) -> &'static str {
        "1 - max_k p_k"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let rows = prediction.probabilities()?;
        let best = rows.axis_iter(Axis(0)).map(|row| row.fold(0.0, |a: f64, &b| a.max(b)));
        Ok(best.map(|best| 1.0 - best).collect())
    }
}
