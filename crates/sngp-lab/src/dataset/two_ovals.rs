//! Two flat Gaussians side by side.

use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};
use sngp::seed::Rng;

use super::PlaneSource;

/// Two flat Gaussians side by side, separable by a line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TwoOvals {}

impl PlaneSource for TwoOvals {
    fn summary(&self) -> &'static str {
        "two flat Gaussians side by side in the plane, separable by a line"
    }

    fn point(&self, class: usize, rng: &mut Rng) -> [f64; 2] {
        let (x, y): (f64, f64) = (rng.sample(StandardNormal), rng.sample(StandardNormal));
        let side = if class == 0 { 1.0 } else { -1.0 };
        [-0.3 * side + 0.7 * x, 0.6 * side + 0.15 * y]
    }

    fn ood_centre(&self) -> [f64; 2] {
        [2.5, -1.75]
    }
}
