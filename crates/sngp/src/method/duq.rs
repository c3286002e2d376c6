//! Deterministic uncertainty quantification (van Amersfoort et al., 2020).

use serde::{Deserialize, Serialize};

use super::{MethodRecipe, Output, Recipe};
use crate::score::KernelDistance;

/// RBF centroids under a two-sided gradient penalty, one pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duq {}

impl MethodRecipe for Duq {
    fn summary(&self) -> &'static str {
        "RBF centroids with a two-sided gradient penalty, one pass"
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            spectral: false,
            output: Output::RbfCentroids,
            members: 1,
            passes: 1,
            score: KernelDistance {}.into(),
        }
    }
}
