//! Several networks, averaged.

use serde::{Deserialize, Serialize};

use super::{MethodRecipe, Output, Recipe};
use crate::score::MaxProbability;

/// Dense heads of independently trained networks, probabilities averaged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeepEnsemble {
    /// Networks trained from different seeds.
    pub members: usize,
}

impl Default for DeepEnsemble {
    fn default() -> Self {
        Self { members: 10 }
    }
}

impl MethodRecipe for DeepEnsemble {
    fn summary(&self) -> &'static str {
        "dense output, several networks averaged"
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            spectral: false,
            output: Output::Dense,
            members: self.members,
            passes: 1,
            score: MaxProbability {}.into(),
        }
    }
}
