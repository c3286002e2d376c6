//! Two interleaved half circles.

use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};
use sngp::seed::Rng;

use super::PlaneSource;

/// Two interleaved half circles with normal noise of standard deviation 0.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TwoMoons {}

impl PlaneSource for TwoMoons {
    fn summary(&self) -> &'static str {
        "two interleaved half circles in the plane, noise 0.1"
    }

    fn point(&self, class: usize, rng: &mut Rng) -> [f64; 2] {
        let angle = rng.random_range(0.0..std::f64::consts::PI);
        let point = match class {
            0 => [angle.cos() - 0.1, angle.sin() + 0.2],
            _ => [1.0 - angle.cos() + 0.1, 0.5 - angle.sin() - 0.2],
        };
        point.map(|x| x + 0.1 * rng.sample::<f64, _>(StandardNormal))
    }

    fn ood_centre(&self) -> [f64; 2] {
        [2.5, -1.75]
    }
}
