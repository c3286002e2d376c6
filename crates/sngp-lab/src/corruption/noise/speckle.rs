use rand::RngExt;
use rand_distr::StandardNormal;

use crate::corruption::{Distortion, Picture, Rng, Severity};

/// `x + c e x`, `e ~ N(0, 1)`: the brighter a pixel, the noisier.
pub(crate) struct Speckle;

impl Distortion for Speckle {
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture {
        let deviation = severity.pick([0.06, 0.10, 0.12, 0.16, 0.20]);
        picture.map(|value| value * (1.0 + deviation * rng.sample::<f32, _>(StandardNormal)))
    }
}
