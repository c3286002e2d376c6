//! The distance from the nearest class, less the distance from all.

use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;

/// Squared Mahalanobis distance to the nearest class mean less that to the mean of all (Ren et al.,
/// 2021).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelativeMahalanobis {}

impl ScoreFunction for RelativeMahalanobis {
    fn summary(&self) -> &'static str {
        "Mahalanobis distance to the nearest class mean less that to the mean of all"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let (detectors, vectors) = prediction.detection()?;
        Ok(detectors.gaussians()?.relative_mahalanobis(vectors.view()))
    }
}
