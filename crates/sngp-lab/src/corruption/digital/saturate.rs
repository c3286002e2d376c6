use crate::corruption::{Distortion, Picture, Rng, Severity};

/// Paler (severities 1 and 2) or stronger colours: the saturation of HSV changes.
pub(crate) struct Saturate;

impl Distortion for Saturate {
    fn distort(&self, picture: Picture, severity: Severity, _rng: &mut Rng) -> Picture {
        let (factor, shift) =
            severity.pick([(0.3, 0.0), (0.1, 0.0), (1.5, 0.0), (2.0, 0.1), (2.5, 0.2)]);
        picture.map_pixels(|_, pixel| {
            let value = pixel.into_iter().fold(0.0, f32::max);
            let least = pixel.into_iter().fold(1.0, f32::min);
            let saturation = if value > 0.0 { (value - least) / value } else { 0.0 };
            let changed = (factor * saturation + shift).clamp(0.0, 1.0);
            if saturation > 0.0 {
                pixel.map(|channel| value - (value - channel) * changed / saturation)
            } else {
                // Grey has the hue 0, which is red.
                [value, value * (1.0 - changed), value * (1.0 - changed)]
            }
        })
    }
}
