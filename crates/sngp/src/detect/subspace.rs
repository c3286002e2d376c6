//! Directions in which the training vectors hardly vary.

use faer::{Mat, Side};
use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::ClassSums;
use crate::{Error, Result};

/// The part of a vector outside the subspace that holds the training vectors: the residual of
/// virtual-logit matching (Wang et al., 2022).
#[derive(Clone, Debug)]
pub struct Subspace {
    origin: Array1<f64>,
    /// `[width, directions]`.
    rest: Array2<f64>,
}

impl Subspace {
    /// The subspace of sums, around their mean, with as many directions as the authors take: half
    /// of a narrow vector's, 512 or 1000 of a wide one's.
    pub fn of(sums: &ClassSums) -> Result<Self> {
        let width = sums.width();
        let kept = match width {
            2048.. => 1000,
            768.. => 512,
            _ => width / 2,
        };
        Self::around(sums.mean(), &sums.total()?, kept)
    }

    /// The directions of a covariance but the `kept` with the most variance, around an origin.
    pub fn around(origin: Array1<f64>, covariance: &Array2<f64>, kept: usize) -> Result<Self> {
        let width = covariance.nrows();
        let matrix = Mat::from_fn(width, width, |i, j| covariance[[i, j]]);
        let eigen = matrix
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::Data("the covariance has no eigenvalues".to_string()))?;
        // Eigenvalues come smallest first.
        let vectors = eigen.U();
        let rest =
            Array2::from_shape_fn((width, width.saturating_sub(kept)), |(i, j)| vectors[(i, j)]);
        Ok(Self { origin, rest })
    }

    /// Where it begins.
    pub fn origin(&self) -> &Array1<f64> {
        &self.origin
    }

    /// The directions outside of it, `[width, directions]`.
    pub fn outside(&self) -> &Array2<f64> {
        &self.rest
    }

    /// The length of every vector's part outside the subspace.
    pub fn residuals(&self, vectors: ArrayView2<'_, f32>) -> Vec<f64> {
        let outside = (vectors.mapv(f64::from) - &self.origin).dot(&self.rest);
        outside.axis_iter(Axis(0)).map(|row| row.dot(&row).sqrt()).collect()
    }
}
