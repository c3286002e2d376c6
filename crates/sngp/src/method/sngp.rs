//! The spectral-normalized Gaussian process.

use serde::{Deserialize, Serialize};

use super::{MethodRecipe, Output, Recipe};
use crate::score::DempsterShafer;

/// Spectral normalization and a Gaussian-process head, one pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sngp {}

impl MethodRecipe for Sngp {
    fn summary(&self) -> &'static str {
        "spectral normalization and Gaussian-process output, one pass"
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            spectral: true,
            output: Output::GaussianProcess,
            members: 1,
            passes: 1,
            score: DempsterShafer {}.into(),
        }
    }
}
