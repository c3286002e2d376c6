use rand::RngExt;

use crate::corruption::{Border, Distortion, Picture, Plane, Rng, Severity};

/// A sheet of rubber: a random affine map, then smooth local shifts.
pub(crate) struct Elastic;

impl Distortion for Elastic {
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture {
        // All in shares of the shorter side: the size of local shifts, how smooth they are, and
        // how far the corners of the affine map move.
        let (shift, smoothness, corner) = severity.pick([
            (0.0, 0.0, 0.08),
            (0.05, 0.2, 0.07),
            (0.08, 0.06, 0.06),
            (0.1, 0.04, 0.05),
            (0.1, 0.03, 0.03),
        ]);
        let (height, width) = (picture.height(), picture.width());
        let side = height.min(width) as f32;
        let affine = Affine::random(height, width, corner * side, rng);
        let mut shifts = || {
            let noise = Plane::from_fn(height, width, |_, _| rng.random_range(-1.0..1.0));
            let smooth = noise.gaussian_blur(smoothness * side, 3.0, Border::Symmetric);
            smooth.map(|value| shift * side * value)
        };
        let (right, down) = (shifts(), shifts());
        picture.map_channels(|channel| {
            let moved = Plane::from_fn(height, width, |y, x| {
                let [y, x] = affine.source([y as f32, x as f32]);
                channel.sample(y, x, Border::Mirror)
            });
            Plane::from_fn(height, width, |y, x| {
                let (down, right) = (down.at(y, x), right.at(y, x));
                moved.sample(y as f32 + down, x as f32 + right, Border::Symmetric)
            })
        })
    }
}

/// An affine map, given by where three corners of a square come from and where they go.
struct Affine {
    /// The first corner after the map, and what it was.
    origin: ([f32; 2], [f32; 2]),
    /// The two sides from there after the map, and what they were.
    sides: ([[f32; 2]; 2], [[f32; 2]; 2]),
}

impl Affine {
    /// Moves three corners of a centred square by up to `reach` in both directions.
    fn random(height: usize, width: usize, reach: f32, rng: &mut Rng) -> Self {
        let (y, x) = ((height / 2) as f32, (width / 2) as f32);
        // At least a pixel, as a square without area has no map.
        let half = (height.min(width) / 3).max(1) as f32;
        let corners = [[y + half, x + half], [y + half, x - half], [y - half, x - half]];
        let mut moved = |place: f32| place + reach * rng.random_range(-1.0..1.0);
        let images = corners.map(|corner| corner.map(&mut moved));
        let from_first = |points: [[f32; 2]; 3]| [1, 2].map(|i| minus(points[i], points[0]));
        Self { origin: (images[0], corners[0]), sides: (from_first(images), from_first(corners)) }
    }

    /// The point that ends up at `target`.
    fn source(&self, target: [f32; 2]) -> [f32; 2] {
        let (images, corners) = self.sides;
        // The target in terms of the moved sides (Cramer's rule) is the source in terms of the
        // original ones.
        let offset = minus(target, self.origin.0);
        let area = cross(images[0], images[1]);
        let first = cross(offset, images[1]) / area;
        let second = cross(images[0], offset) / area;
        [0, 1].map(|i| self.origin.1[i] + first * corners[0][i] + second * corners[1][i])
    }
}

fn minus(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn cross(a: [f32; 2], b: [f32; 2]) -> f32 {
    a[0] * b[1] - a[1] * b[0]
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn corners_come_from_where_they_were() {
        let map = Affine::random(32, 32, 3.0, &mut Rng::seed_from_u64(1));
        let source = map.source(map.origin.0);
        assert_eq!(source, [26.0, 26.0]);
        let unmoved = Affine::random(32, 32, 0.0, &mut Rng::seed_from_u64(1));
        let [y, x] = unmoved.source([3.0, 20.0]);
        assert!((y - 3.0).abs() < 1e-4 && (x - 20.0).abs() < 1e-4, "{y} {x}");
    }
}
