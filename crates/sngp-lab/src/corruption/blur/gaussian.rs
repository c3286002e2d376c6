use crate::corruption::{Border, Distortion, Picture, Rng, Severity};

/// A Gaussian blur.
pub(crate) struct Gaussian;

impl Distortion for Gaussian {
    fn distort(&self, picture: Picture, severity: Severity, _rng: &mut Rng) -> Picture {
        let sigma = picture.scale() * severity.pick([0.4, 0.6, 0.7, 0.8, 1.0]);
        picture.map_channels(|channel| channel.gaussian_blur(sigma, 4.0, Border::Nearest))
    }
}
