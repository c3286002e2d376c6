//! Data sets: one file here and one line in their registry.

pub mod image;
mod origin;
pub mod text;
mod two_moons;
mod two_ovals;

pub use origin::{ORIGINS, Origin, Published};
pub use two_moons::TwoMoons;
pub use two_ovals::TwoOvals;

use ndarray::Array2;
use rand::RngExt;
use rand_distr::StandardNormal;
use sngp::seed::{Purpose, Rng, stream};

/// Points of each class in a training or test set.
const POINTS_PER_CLASS: usize = 500;
/// Points of the unseen cluster.
const OOD_POINTS: usize = 500;

/// A set of labelled points in the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// Coordinates `[rows, 2]`.
    pub inputs: Array2<f32>,
    /// The class of every row.
    pub labels: Vec<usize>,
}

/// A drawn two-dimensional problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// What models are trained on.
    pub train: Points,
    /// Fresh points of the same distribution.
    pub test: Points,
    /// A cluster no model has seen.
    pub ood: Array2<f32>,
}

/// The part of the plane that surfaces are drawn on.
pub const X_RANGE: [f64; 2] = [-3.5, 3.5];
/// See [`X_RANGE`].
pub const Y_RANGE: [f64; 2] = [-2.5, 2.5];

/// What a two-dimensional data set provides.
pub trait PlaneSource {
    /// One line for listings.
    fn summary(&self) -> &'static str;

    /// One point of a class.
    fn point(&self, class: usize, rng: &mut Rng) -> [f64; 2];

    /// The centre of the unseen cluster.
    fn ood_centre(&self) -> [f64; 2];
}

sngp::registry! {
    /// The two-dimensional data sets, one line each.
    pub enum PlaneDataset as "data set": PlaneSource {
        "two_moons" => TwoMoons(TwoMoons),
        "two_ovals" => TwoOvals(TwoOvals),
    }
}

impl PlaneDataset {
    /// Draws the problem of a seed.
    ///
    /// ```
    /// let moons: sngp_lab::dataset::PlaneDataset = "two_moons".parse()?;
    /// let plane = moons.draw(1);
    /// assert_eq!(plane.train.inputs.dim(), (1000, 2));
    /// assert_eq!(plane, moons.draw(1));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn draw(&self, seed: u64) -> Plane {
        let points = |index| {
            let mut rng = stream(seed, Purpose::Shuffle, u64::MAX - index);
            let labels: Vec<usize> = (0..2 * POINTS_PER_CLASS).map(|row| row % 2).collect();
            let rows: Vec<[f64; 2]> =
                labels.iter().map(|&class| self.point(class, &mut rng)).collect();
            Points { inputs: matrix(&rows), labels }
        };
        let mut rng = stream(seed, Purpose::Shuffle, u64::MAX - 2);
        let centre = self.ood_centre();
        let ood: Vec<[f64; 2]> = (0..OOD_POINTS)
            .map(|_| centre.map(|c| c + 0.1 * rng.sample::<f64, _>(StandardNormal)))
            .collect();
        Plane { train: points(0), test: points(1), ood: matrix(&ood) }
    }
}

fn matrix(rows: &[[f64; 2]]) -> Array2<f32> {
    Array2::from_shape_fn((rows.len(), 2), |(i, j)| rows[i][j] as f32)
}
