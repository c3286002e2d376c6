//! How close a decision is.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;

/// `1 - 2 |p - 0.5|` for two classes; for more, one minus the lead of the best over the second.
///
/// The two agree: with two classes the lead is `|p - (1 - p)| = 2 |p - 0.5|`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Margin {}

impl ScoreFunction for Margin {
    fn summary(&self) -> &'static str {
        "1 - 2 |p - 0.5|; with more than two classes, 1 - (best - second)"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let rows = prediction.probabilities()?;
        let margin = |row: ndarray::ArrayView1<'_, f64>| {
            let (first, second) = row.iter().fold((0.0f64, 0.0f64), |(first, second), &p| {
                if p > first { (p, first) } else { (first, second.max(p)) }
            });
            1.0 - (first - second)
        };
        Ok(rows.axis_iter(Axis(0)).map(margin).collect())
    }
}
