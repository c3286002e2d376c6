use crate::corruption::{Distortion, Picture, Plane, Rng, Severity};

/// A camera that moves closer: the mean of the picture and its enlargements in steps of 1 %.
pub(crate) struct Zoom;

impl Distortion for Zoom {
    fn distort(&self, picture: Picture, severity: Severity, _rng: &mut Rng) -> Picture {
        // The first two were meant to be 5 and 10, but the published images were made with a
        // step more: a range that ends before 1.06 by steps of 0.01 has 1.06 in it, by rounding.
        let percent = severity.pick([6_u8, 11, 15, 20, 25]);
        picture.map_channels(|channel| {
            // The picture itself counts twice: once as such and once enlarged by 0 %.
            let mut sum = channel.clone();
            for step in 0..=percent {
                add(&mut sum, &channel.zoom(1.0 + f32::from(step) / 100.0));
            }
            let count = 2.0 + f32::from(percent);
            sum.map(|value| value / count)
        })
    }
}

fn add(sum: &mut Plane, plane: &Plane) {
    sum.values.iter_mut().zip(&plane.values).for_each(|(sum, value)| *sum += value);
}
