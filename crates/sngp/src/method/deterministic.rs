//! The network everybody has.

use serde::{Deserialize, Serialize};

use super::{MethodRecipe, Output, Recipe};
use crate::score::MaxProbability;

/// A dense head, one pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deterministic {}

impl MethodRecipe for Deterministic {
    fn summary(&self) -> &'static str {
        "dense output, one pass: the baseline"
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            spectral: false,
            output: Output::Dense,
            members: 1,
            passes: 1,
            score: MaxProbability {}.into(),
        }
    }
}
