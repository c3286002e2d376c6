//! What is ambiguous, far, or a little of both.

use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::predict::Prediction;
use crate::{Error, Result};

/// The sum of `-ln p` over scores of ambiguity and distance, each among held-out examples: see [`Combination`](crate::detect::Combination).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Combined {}

impl ScoreFunction for Combined {
    fn summary(&self) -> &'static str {
        "-sum ln p, among held-out examples, of entropy, max_probability, knn, mahalanobis and \
         relative_mahalanobis"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let combination = prediction.combination.as_ref().ok_or_else(|| {
            let message = "this model was never told what its scores are like on held-out examples";
            Error::Unsupported(message.to_string())
        })?;
        combination.evaluate(prediction)
    }
}
