//! Dropout left on at prediction time.

use serde::{Deserialize, Serialize};

use super::{MethodRecipe, Output, Recipe};
use crate::score::MaxProbability;

/// A dense head, several passes with dropout on, probabilities averaged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McDropout {
    /// Passes with dropout on.
    pub passes: usize,
}

impl Default for McDropout {
    fn default() -> Self {
        Self { passes: 10 }
    }
}

impl MethodRecipe for McDropout {
    fn summary(&self) -> &'static str {
        "dense output, several passes with dropout on"
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            spectral: false,
            output: Output::Dense,
            members: 1,
            passes: self.passes,
            score: MaxProbability {}.into(),
        }
    }
}
