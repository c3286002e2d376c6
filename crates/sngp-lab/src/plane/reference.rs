//! What a surface is compared with.

use ndarray::Array2;
use sngp::exact_gp::{ExactGpClassifier, ExactGpConfig};
use sngp::metrics::spearman;
use sngp::{Error, Result};

use super::surface::GRID;
use crate::dataset::Plane;

/// Where the exact GP is as good as at its prior, ranks are noise and are left out.
const SATURATED: f64 = 0.98;

/// The exact GP's variance and the distance to the training data, over the grid.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The exact GP's latent variance.
    pub variance: Vec<f64>,
    /// Distance to the nearest training point.
    pub distance: Vec<f64>,
}

impl Reference {
    /// Fits the exact GP to a problem.
    pub fn of(plane: &Plane, config: &ExactGpConfig) -> Result<Self> {
        let train = plane.train.inputs.mapv(f64::from);
        let gp = ExactGpClassifier::fit(train.view(), &plane.train.labels, 2, config)?;
        let points: Vec<[f64; 2]> = GRID.points().into_iter().collect();
        let grid = Array2::from_shape_fn((points.len(), 2), |(i, j)| points[i][j]);
        let variance = gp.predict(grid.view())?.variance.column(0).to_vec();
        let nearest = |point: &[f64; 2]| {
            let squared = train.outer_iter().map(|row| {
                let (dx, dy) = (row[0] - point[0], row[1] - point[1]);
                dx * dx + dy * dy
            });
            squared.fold(f64::INFINITY, f64::min).sqrt()
        };
        Ok(Self { variance, distance: points.iter().map(nearest).collect() })
    }

    /// Rank correlation with the exact GP where it is not saturated.
    pub fn rank_correlation(&self, surface: &[f64]) -> Result<f64> {
        let pairs = self.variance.iter().zip(surface).filter(|(exact, _)| **exact < SATURATED);
        let (exact, ours): (Vec<f64>, Vec<f64>) = pairs.map(|(a, b)| (*a, *b)).unzip();
        spearman(&exact, &ours)
    }

    /// Mean absolute difference to the exact GP over the whole grid.
    pub fn mean_absolute_difference(&self, surface: &[f64]) -> Result<f64> {
        if surface.len() != self.variance.len() {
            return Err(Error::shape("grid points", self.variance.len(), surface.len()));
        }
        let total: f64 = self.variance.iter().zip(surface).map(|(a, b)| (a - b).abs()).sum();
        Ok(total / surface.len() as f64)
    }

    /// Rank correlation with the distance to the nearest training point.
    pub fn distance_awareness(&self, surface: &[f64]) -> Result<f64> {
        spearman(&self.distance, surface)
    }
}
