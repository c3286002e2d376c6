//! Virtual-logit matching.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::predict::{Prediction, log_sum_exp};
use crate::{Error, Result};

/// The part of the hidden vector outside the training vectors' main directions, as large as a
/// logit, against the energy of the logits (Wang et al., 2022).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vim {}

impl ScoreFunction for Vim {
    fn summary(&self) -> &'static str {
        "residual of the hidden vector outside the main directions, less ln sum_k exp(logit_k)"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let (detectors, vectors) = prediction.detection()?;
        let factor = detectors.virtual_logit().ok_or_else(|| {
            Error::Unsupported("the residual was never compared with logits".to_string())
        })?;
        let logits = prediction.plain_class_logits()?;
        let residuals = detectors.subspace()?.residuals(vectors.view()).into_iter();
        let rows = residuals.zip(logits.axis_iter(Axis(0)));
        Ok(rows.map(|(r, logits)| factor * r - log_sum_exp(logits.iter().copied())).collect())
    }
}
