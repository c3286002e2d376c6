//! The free energy of the logits.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;
use crate::predict::log_sum_exp;
/// -ln sum_k exp(logit_k)
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Energy {}

impl ScoreFunction for Energy {
    fn summary(&self) -> &'static str {
        "-ln sum_k exp(logit_k)"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let logits = prediction.plain_class_logits()?;
        Ok(logits.axis_iter(Axis(0)).map(|row| -log_sum_exp(row.iter().copied())).collect())
    }
}
