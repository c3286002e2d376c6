use crate::corruption::{Distortion, Picture, Plane, Rng, Severity};

/// Fewer pixels: shrunk by averaging and enlarged by copying.
pub(crate) struct Pixelate;

impl Distortion for Pixelate {
    fn distort(&self, picture: Picture, severity: Severity, _rng: &mut Rng) -> Picture {
        let share: f32 = severity.pick([0.95, 0.9, 0.85, 0.75, 0.65]);
        let fewer = |size: usize| ((share * size as f32) as usize).max(1);
        picture.map_channels(|channel| {
            let (height, width) = (channel.height, channel.width);
            resize(&resize(&channel, fewer(height), fewer(width)), height, width)
        })
    }
}

/// Every new pixel is the mean of the old ones whose centres it covers, at least one.
fn resize(plane: &Plane, height: usize, width: usize) -> Plane {
    let covered = |position: usize, old: usize, new: usize| {
        let ratio = old as f32 / new as f32;
        let (centre, reach) = ((position as f32 + 0.5) * ratio, 0.5 * ratio.max(1.0));
        let first = (centre - reach + 0.5) as usize;
        first..((centre + reach + 0.5) as usize).min(old)
    };
    Plane::from_fn(height, width, |y, x| {
        let rows = covered(y, plane.height, height);
        let columns = covered(x, plane.width, width);
        let count = (rows.len() * columns.len()) as f32;
        let sum_of_row = |row| columns.clone().map(|column| plane.at(row, column)).sum::<f32>();
        rows.map(sum_of_row).sum::<f32>() / count
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_averages_and_doubling_copies() {
        let ramp = Plane::from_fn(2, 4, |_, x| x as f32);
        let half = resize(&ramp, 1, 2);
        assert_eq!(half.values, [0.5, 2.5]);
        assert_eq!(resize(&half, 1, 4).values, [0.5, 0.5, 2.5, 2.5]);
    }
}
