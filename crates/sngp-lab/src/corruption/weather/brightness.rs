use crate::corruption::{Distortion, Picture, Rng, Severity};

/// More light: the value of HSV grows, hue and saturation stay.
pub(crate) struct Brightness;

impl Distortion for Brightness {
    fn distort(&self, picture: Picture, severity: Severity, _rng: &mut Rng) -> Picture {
        let light = severity.pick([0.05, 0.10, 0.15, 0.20, 0.30]);
        picture.map_pixels(|_, pixel| {
            // The value is the largest channel; the other two keep their share of it.
            let value = pixel.into_iter().fold(0.0, f32::max);
            let brighter = (value + light).min(1.0);
            pixel.map(|channel| if value > 0.0 { channel * brighter / value } else { brighter })
        })
    }
}
