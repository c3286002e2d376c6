//! Generalized entropy.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;

/// The exponent, and the classes that count, as the authors have them.
const GAMMA: f64 = 0.1;
const CLASSES: usize = 100;
/// Probabilities below are rounding errors, which so small an exponent would make much of.
const LEAST: f64 = 1e-7;

/// `sum_k (p_k (1 - p_k))^0.1` over the hundred most probable classes (Liu et al., 2023).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gen {}

impl ScoreFunction for Gen {
    fn summary(&self) -> &'static str {
        "sum_k (p_k (1 - p_k))^0.1 over the hundred most probable classes"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let rows = prediction.probabilities()?;
        let row = |row: ndarray::ArrayView1<'_, f64>| {
            let mut sorted = row.to_vec();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let term = |&p: &f64| {
                let p = p.clamp(LEAST, 1.0 - LEAST);
                (p * (1.0 - p)).powf(GAMMA)
            };
            sorted.iter().take(CLASSES).map(term).sum()
        };
        Ok(rows.axis_iter(Axis(0)).map(row).collect())
    }
}
