use rand_distr::{Distribution, Poisson};

use crate::corruption::{Distortion, Picture, Rng, Severity};

/// `Poisson(c x) / c`: light arrives in photons, `c` of them at full brightness.
pub(crate) struct Shot;

impl Distortion for Shot {
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture {
        let photons = severity.pick([500.0, 250.0, 100.0, 75.0, 50.0]);
        picture.map(|value| {
            // There is no Poisson distribution of mean 0: black stays black.
            Poisson::new(value * photons).map_or(0.0, |light| light.sample(rng) / photons)
        })
    }
}
