//! Several SNGP networks, averaged.

use serde::{Deserialize, Serialize};

use super::{MethodRecipe, Output, Recipe};
use crate::score::DempsterShafer;

/// Independently trained SNGP networks, probabilities and variances averaged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SngpEnsemble {
    /// Networks trained from different seeds.
    pub members: usize,
}

impl Default for SngpEnsemble {
    fn default() -> Self {
        Self { members: 5 }
    }
}

impl MethodRecipe for SngpEnsemble {
    fn summary(&self) -> &'static str {
        "several SNGP networks averaged"
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            spectral: true,
            output: Output::GaussianProcess,
            members: self.members,
            passes: 1,
            score: DempsterShafer {}.into(),
        }
    }
}
