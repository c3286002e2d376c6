use crate::corruption::plane::{gaussian_weights, normalized};
use crate::corruption::{Border, Distortion, Picture, Rng, Severity, Tap};

/// A lens out of focus: every point becomes a disk with a softened rim.
pub(crate) struct Defocus;

impl Distortion for Defocus {
    fn distort(&self, picture: Picture, severity: Severity, _rng: &mut Rng) -> Picture {
        let (radius, softness) =
            severity.pick([(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1)]);
        let taps = disk(picture.scale() * radius, picture.scale() * softness);
        picture.map_channels(|channel| channel.filter(&taps, Border::Mirror))
    }
}

/// A disk, blurred by a Gaussian of `softness` over 3 x 3 pixels (5 x 5 if large) so that its rim
/// has no steps.
fn disk(radius: f32, softness: f32) -> Vec<Tap> {
    let rim = if radius <= 8.0 { 1 } else { 2 };
    let soft = gaussian_weights(softness, rim);
    let inside = |y: isize, x: isize| ((y * y + x * x) as f32) <= radius * radius;
    let reach = radius as isize + rim;
    let square = || (-reach..=reach).flat_map(|y| (-reach..=reach).map(move |x| (y, x)));
    let weights = square().map(|(y, x)| {
        let rows = (-rim..=rim).zip(&soft);
        let around = rows.flat_map(|row| (-rim..=rim).zip(&soft).map(move |column| (row, column)));
        let covered = around.filter(|((down, _), (right, _))| inside(y + down, x + right));
        covered.map(|((_, a), (_, b))| a * b).sum()
    });
    let weights = normalized(weights.collect());
    let taps = square().zip(weights).map(|((down, right), weight)| Tap { down, right, weight });
    taps.filter(|tap| tap.weight > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_symmetric_and_grow() {
        for (radius, softness) in [(0.3, 0.4), (1.0, 0.2), (1.5, 0.1), (10.0, 1.0)] {
            let taps = disk(radius, softness);
            let sum = |value: fn(&Tap) -> f32| taps.iter().map(value).sum::<f32>();
            assert!((sum(|tap| tap.weight) - 1.0).abs() < 1e-5);
            assert!(sum(|tap| tap.weight * tap.down as f32).abs() < 1e-5);
            assert!(sum(|tap| tap.weight * tap.right as f32).abs() < 1e-5);
        }
        let centre = |radius| {
            let taps = disk(radius, 0.1);
            taps.iter().find(|tap| (tap.down, tap.right) == (0, 0)).unwrap().weight
        };
        assert!((centre(1.0) - 1.0 / 5.0).abs() < 1e-3);
        assert!((centre(1.5) - 1.0 / 9.0).abs() < 1e-3);
    }
}
