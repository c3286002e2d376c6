use rand::RngExt;

use crate::corruption::{Distortion, Picture, Plane, Rng, Severity};

/// A layer of fog of uneven density, brought back to the range of the picture.
pub(crate) struct Fog;

impl Distortion for Fog {
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture {
        let (density, decay) =
            severity.pick([(0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75)]);
        let values = picture.channels.iter().flat_map(|channel| &channel.values);
        let brightest = values.copied().fold(0.0, f32::max);
        let side = picture.height().max(picture.width()).next_power_of_two();
        let fractal = plasma(side, decay, rng);
        let dimmed = brightest / (brightest + density);
        picture.map_channels(|channel| {
            Plane::from_fn(channel.height, channel.width, |y, x| {
                dimmed * (channel.at(y, x) + density * fractal.at(y, x))
            })
        })
    }
}

/// A plasma fractal from 0 to 1 by the diamond-square algorithm on a torus: the middle of four
/// points is their mean and a random wobble, which shrinks by `decay` squared a level.
fn plasma(side: usize, decay: f32, rng: &mut Rng) -> Plane {
    let mut plane = Plane::from_fn(side, side, |_, _| 0.0);
    let (mut step, mut wobble) = (side, 1.0);
    while step >= 2 {
        let half = step / 2;
        // On a torus, `side - half` forwards is `half` backwards.
        let (back, on) = (side - half, half);
        let corners = [(back, back), (back, on), (on, back), (on, on)];
        let cross = [(back, 0), (on, 0), (0, back), (0, on)];
        // Centres of the squares, then middles of their upper and of their left edges.
        refine(&mut plane, step, (half, half), corners, wobble, rng);
        refine(&mut plane, step, (0, half), cross, wobble, rng);
        refine(&mut plane, step, (half, 0), cross, wobble, rng);
        step = half;
        wobble /= decay * decay;
    }
    let low = plane.values.iter().copied().fold(f32::INFINITY, f32::min);
    let high = plane.values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = if high > low { high - low } else { 1.0 };
    plane.map(|value| (value - low) / range)
}

/// Sets the points `first`, and every `step` from there, to the mean of what lies at the four
/// `offsets` from them, plus a wobble.
fn refine(
    plane: &mut Plane,
    step: usize,
    first: (usize, usize),
    offsets: [(usize, usize); 4],
    wobble: f32,
    rng: &mut Rng,
) {
    let side = plane.width;
    for y in (first.0..side).step_by(step) {
        for x in (first.1..side).step_by(step) {
            let near = offsets.map(|(down, right)| plane.at((y + down) % side, (x + right) % side));
            let mean = near.iter().sum::<f32>() / 4.0;
            plane.values[y * side + x] = mean + wobble * rng.random_range(-1.0..1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn without_wobble_new_points_lie_between_old_ones() {
        // So fast a decay leaves the wobble of the first level alone.
        let plane = plasma(16, 1e6, &mut Rng::seed_from_u64(1));
        for y in 0..8 {
            for x in 0..8 {
                let (top, left) = (2 * y, 2 * x);
                let (bottom, right) = ((top + 2) % 16, (left + 2) % 16);
                let corners = [(top, left), (top, right), (bottom, left), (bottom, right)];
                let mean = corners.iter().map(|&(y, x)| plane.at(y, x)).sum::<f32>() / 4.0;
                assert!((plane.at(top + 1, left + 1) - mean).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn fog_is_smoother_the_faster_it_decays() {
        let roughness = |decay| {
            let plane = plasma(64, decay, &mut Rng::seed_from_u64(1));
            let steps = plane.values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
            assert!(plane.values.iter().all(|value| (0.0..=1.0).contains(value)));
            steps.sum::<f32>()
        };
        assert!(roughness(3.0) < roughness(2.0) && roughness(2.0) < roughness(1.5));
        assert_eq!(plasma(1, 3.0, &mut Rng::seed_from_u64(1)).values, [0.0]);
    }
}
