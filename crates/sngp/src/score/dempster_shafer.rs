//! How little evidence the logits carry.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;
use crate::predict::{log_sum_exp, sigmoid};
/// K / (K + sum_k exp(logit_k)) on mean-field-adjusted logits
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DempsterShafer {}

impl ScoreFunction for DempsterShafer {
    fn summary(&self) -> &'static str {
        "K / (K + sum_k exp(logit_k)) on mean-field-adjusted logits"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let logits = prediction.class_logits()?;
        let classes = logits.ncols() as f64;
        // K / (K + exp(L)) = 1 / (1 + exp(L - ln K)) with L = log-sum-exp, which cannot overflow.
        let rows = logits.axis_iter(Axis(0));
        Ok(rows.map(|row| sigmoid(classes.ln() - log_sum_exp(row.iter().copied()))).collect())
    }
}
