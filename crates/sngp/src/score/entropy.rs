//! The entropy of the predictive distribution.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;

/// -sum_k p_k ln p_k
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entropy {}

impl ScoreFunction for Entropy {
    fn summary(&self) -> &'static str {
        "-sum_k p_k ln p_k"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let rows = prediction.probabilities()?;
        let term = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
        Ok(rows.axis_iter(Axis(0)).map(|row| row.iter().map(|&p| term(p)).sum()).collect())
    }
}
