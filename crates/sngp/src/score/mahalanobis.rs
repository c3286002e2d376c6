//! The distance from the nearest class.

use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;

/// Squared Mahalanobis distance of the hidden vector to the nearest class mean (Lee et al., 2018).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mahalanobis {}

impl ScoreFunction for Mahalanobis {
    fn summary(&self) -> &'static str {
        "squared Mahalanobis distance of the hidden vector to the nearest class mean"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let (detectors, vectors) = prediction.detection()?;
        Ok(detectors.gaussians()?.mahalanobis(vectors.view()))
    }
}
