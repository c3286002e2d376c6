use rand::RngExt;

use crate::corruption::{Distortion, Picture, Rng, Severity};

/// Salt and pepper: a share of the values becomes 0 or 1, as by faulty bits.
pub(crate) struct Impulse;

impl Distortion for Impulse {
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture {
        let share = severity.pick([0.01, 0.02, 0.03, 0.05, 0.07]);
        picture.map(|value| match rng.random_bool(share) {
            true => f32::from(u8::from(rng.random_bool(0.5))),
            false => value,
        })
    }
}
