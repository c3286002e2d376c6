//! How rare such hidden vectors are.

use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;

/// Negative log density of the hidden vector under a Gaussian a class, as in DDU (Mukhoti et al.,
/// 2023), with the covariance the classes share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Density {}

impl ScoreFunction for Density {
    fn summary(&self) -> &'static str {
        "negative log density of the hidden vector under a Gaussian a class"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let (detectors, vectors) = prediction.detection()?;
        Ok(detectors.gaussians()?.negative_log_density(vectors.view()))
    }
}
