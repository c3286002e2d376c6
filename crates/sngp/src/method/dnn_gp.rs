//! The ablation without spectral normalization.

use serde::{Deserialize, Serialize};

use super::{MethodRecipe, Output, Recipe};
use crate::score::DempsterShafer;

/// A Gaussian-process head on an unconstrained network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnnGp {}

impl MethodRecipe for DnnGp {
    fn summary(&self) -> &'static str {
        "Gaussian-process output: SNGP without its normalization"
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            spectral: false,
            output: Output::GaussianProcess,
            members: 1,
            passes: 1,
            score: DempsterShafer {}.into(),
        }
    }
}
