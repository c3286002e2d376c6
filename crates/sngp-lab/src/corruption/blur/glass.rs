use rand::RngExt;

use crate::corruption::{Border, Distortion, Picture, Plane, Rng, Severity};

/// Frosted glass: pixels are seen through their neighbours, between two blurs.
pub(crate) struct Glass;

impl Distortion for Glass {
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture {
        let (sigma, rounds) = severity.pick([(0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2)]);
        let sigma = picture.scale() * sigma;
        let reach = picture.scale().round().max(1.0) as usize;
        let blur = |channel: Plane| channel.gaussian_blur(sigma, 4.0, Border::Nearest);
        let mut picture = picture.map_channels(blur);
        for _ in 0..rounds {
            scatter(&mut picture, reach, rng);
        }
        picture.map_channels(blur)
    }
}

/// Lets every inner pixel, from the last to the first, show one up to `reach` away.
///
/// The paper speaks of shuffling, but the published code copies: the pixel that is shown stays
/// where it is as well. The sample of severity 1, which is not blurred, holds such copies only.
fn scatter(picture: &mut Picture, reach: usize, rng: &mut Rng) {
    let (height, width) = (picture.height(), picture.width());
    let inner = |size: usize| (reach + 1..=size.saturating_sub(reach)).rev();
    for y in inner(height) {
        for x in inner(width) {
            let mut near = |position: usize| position - reach + rng.random_range(0..2 * reach);
            let (from_y, from_x) = (near(y), near(x));
            for channel in &mut picture.channels {
                channel.values[y * width + x] = channel.at(from_y, from_x);
            }
        }
    }
}
