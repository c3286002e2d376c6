//! Dropout on in front of a Gaussian process.

use serde::{Deserialize, Serialize};

use super::{MethodRecipe, Output, Recipe};
use crate::score::DempsterShafer;

/// A Gaussian-process head, several passes with dropout on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McdGp {
    /// Passes with dropout on.
    pub passes: usize,
}

impl Default for McdGp {
    fn default() -> Self {
        Self { passes: 10 }
    }
}

impl MethodRecipe for McdGp {
    fn summary(&self) -> &'static str {
        "Gaussian-process output, several passes with dropout on"
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            spectral: false,
            output: Output::GaussianProcess,
            members: 1,
            passes: self.passes,
            score: DempsterShafer {}.into(),
        }
    }
}
