//! The ablation without the Gaussian process.

use serde::{Deserialize, Serialize};

use super::{MethodRecipe, Output, Recipe};
use crate::score::MaxProbability;

/// Spectral normalization with a dense head.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnnSn {}

impl MethodRecipe for DnnSn {
    fn summary(&self) -> &'static str {
        "spectral normalization, dense output: SNGP without its GP"
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            spectral: true,
            output: Output::Dense,
            members: 1,
            passes: 1,
            score: MaxProbability {}.into(),
        }
    }
}
