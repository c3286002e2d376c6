//! The variance of the predicted class's logit.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::predict::{Prediction, Predictive};
use crate::{Error, Result};

/// Variance of the predicted class's logit, for models with a Gaussian-process head.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variance {}

impl ScoreFunction for Variance {
    fn summary(&self) -> &'static str {
        "variance of the predicted class's logit (Gaussian-process heads)"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let variance = prediction.variance.as_ref().ok_or_else(|| {
            let instead = match prediction.predictive {
                Predictive::Classes(_) => "use max_probability, entropy or energy",
                _ => "a model of numbers needs a Gaussian-process output to be uncertain by",
            };
            Error::Unsupported(format!("this model's head has no variance; {instead}"))
        })?;
        if variance.ncols() == 1 {
            return Ok(variance.column(0).to_vec());
        }
        let rows = prediction.labels()?.into_iter().zip(variance.axis_iter(Axis(0)));
        Ok(rows.map(|(class, variance)| variance[class]).collect())
    }
}
