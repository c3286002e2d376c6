use rand::RngExt;
use rand_distr::StandardNormal;

use crate::corruption::blur::streak;
use crate::corruption::{Border, Distortion, Picture, Plane, Rng, Severity};

/// What falling snow is made of.
#[derive(Clone, Copy)]
struct Fall {
    /// Mean and standard deviation of the noise that flakes are cut out of.
    noise: (f32, f32),
    /// How much the noise is enlarged: the size of the flakes.
    zoom: f32,
    /// Noise below this is no flake.
    threshold: f32,
    /// Length and standard deviation of the trail of a flake.
    trail: (f32, f32),
    /// The share of the picture that is not whitened.
    clear: f32,
}

#[rustfmt::skip]
const FALLS: [Fall; 5] = [
    Fall { noise: (0.10, 0.2), zoom: 1.00, threshold: 0.60, trail: (8.0, 3.0), clear: 0.95 },
    Fall { noise: (0.10, 0.2), zoom: 1.00, threshold: 0.50, trail: (10.0, 4.0), clear: 0.90 },
    Fall { noise: (0.15, 0.3), zoom: 1.75, threshold: 0.55, trail: (10.0, 4.0), clear: 0.90 },
    Fall { noise: (0.25, 0.3), zoom: 2.25, threshold: 0.60, trail: (12.0, 6.0), clear: 0.85 },
    Fall { noise: (0.30, 0.3), zoom: 1.25, threshold: 0.65, trail: (14.0, 12.0), clear: 0.80 },
];

/// Flakes falling in two directions over a whitened picture.
pub(crate) struct Snow;

impl Distortion for Snow {
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture {
        let fall = severity.pick(FALLS);
        let flakes = fall.flakes(&picture, rng);
        let last = flakes.values.len() - 1;
        picture.map_pixels(|index, pixel| {
            // Turned by 180 degrees, the first pixel is the last.
            let snow = flakes.values[index] + flakes.values[last - index];
            let [red, green, blue] = pixel;
            let white = 1.5 * (0.299 * red + 0.587 * green + 0.114 * blue) + 0.5;
            pixel.map(|value| fall.clear * value + (1.0 - fall.clear) * value.max(white) + snow)
        })
    }
}

impl Fall {
    fn flakes(&self, picture: &Picture, rng: &mut Rng) -> Plane {
        let scale = picture.scale();
        let (mean, deviation) = self.noise;
        let noise = Plane::from_fn(picture.height(), picture.width(), |_, _| {
            mean + deviation * rng.sample::<f32, _>(StandardNormal)
        });
        // Flakes of a small picture need no enlargement, those of a large one grow with it.
        let flakes = noise.zoom((scale * self.zoom).max(self.zoom));
        let cut = |value: f32| if value < self.threshold { 0.0 } else { value.min(1.0) };
        let taps = streak(scale * self.trail.0, scale * self.trail.1, -135.0..-45.0, rng);
        flakes.map(cut).filter(&taps, Border::Nearest)
    }
}
