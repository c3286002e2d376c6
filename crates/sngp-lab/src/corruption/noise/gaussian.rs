use rand::RngExt;
use rand_distr::StandardNormal;

use crate::corruption::{Distortion, Picture, Rng, Severity};

/// `x + c e`, `e ~ N(0, 1)`: a camera in low light.
pub(crate) struct Gaussian;

impl Distortion for Gaussian {
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture {
        let deviation = severity.pick([0.04, 0.06, 0.08, 0.09, 0.10]);
        picture.map(|value| value + deviation * rng.sample::<f32, _>(StandardNormal))
    }
}
