use std::ops::Range;

use rand::RngExt;

use crate::corruption::plane::normalized;
use crate::corruption::{Border, Distortion, Picture, Rng, Severity, Tap};

/// A camera that moves sideways.
pub(crate) struct Motion;

impl Distortion for Motion {
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture {
        let (radius, sigma) =
            severity.pick([(6.0, 1.0), (6.0, 1.5), (6.0, 2.0), (8.0, 2.0), (9.0, 2.5)]);
        let scale = picture.scale();
        let taps = streak(scale * radius, scale * sigma, -45.0..45.0, rng);
        picture.map_channels(|channel| channel.filter(&taps, Border::Nearest))
    }
}

/// A trail that fades like a Gaussian to one side, `2 radius + 1` pixels long, in a direction
/// drawn from `degrees`.
pub(crate) fn streak(radius: f32, sigma: f32, degrees: Range<f32>, rng: &mut Rng) -> Vec<Tap> {
    let (sin, cos) = rng.random_range(degrees).to_radians().sin_cos();
    let steps = 0..=2 * radius.ceil() as usize;
    let weight = |step: usize| (-0.5 * (step as f32 / sigma).powi(2)).exp();
    let weights = normalized(steps.clone().map(weight).collect());
    let nearest = |length: f32| (length - 0.5).ceil() as isize;
    steps
        .zip(weights)
        .map(|(step, weight)| Tap {
            down: nearest(step as f32 * sin),
            right: nearest(step as f32 * cos),
            weight,
        })
        .collect()
}
