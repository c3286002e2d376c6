//! The distance from the training examples.

use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;

/// Distance of the hidden vector to its tenth nearest training vector (Sun et al., 2022).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knn {}

impl ScoreFunction for Knn {
    fn summary(&self) -> &'static str {
        "distance of the hidden vector to its tenth nearest training vector"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let (detectors, vectors) = prediction.detection()?;
        detectors.neighbours().distances(vectors.view())
    }
}
