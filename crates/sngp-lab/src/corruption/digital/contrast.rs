use crate::corruption::{Distortion, Picture, Rng, Severity};

/// Every channel is drawn towards its mean.
pub(crate) struct Contrast;

impl Distortion for Contrast {
    fn distort(&self, picture: Picture, severity: Severity, _rng: &mut Rng) -> Picture {
        let kept = severity.pick([0.75, 0.5, 0.4, 0.3, 0.15]);
        picture.map_channels(|channel| {
            let mean = channel.values.iter().sum::<f32>() / channel.values.len() as f32;
            channel.map(|value| mean + kept * (value - mean))
        })
    }
}
