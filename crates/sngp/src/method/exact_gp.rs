//! The exact Gaussian process, for small data.

use serde::{Deserialize, Serialize};

use super::{MethodRecipe, Output, Recipe};
use crate::score::Variance;

/// An exact RBF Gaussian process on the inputs, with Laplace classification.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactGp {}

impl MethodRecipe for ExactGp {
    fn summary(&self) -> &'static str {
        "exact RBF Gaussian process on the inputs; small data only"
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            spectral: false,
            output: Output::ExactGaussianProcess,
            members: 1,
            passes: 1,
            score: Variance {}.into(),
        }
    }
}
