//! Gaussians with one covariance around the means of the classes.

use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::{Mat, Par};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;

use super::ClassSums;
use crate::Result;
use crate::linalg::cholesky_jittered;
use crate::predict::log_sum_exp;

/// Rows whose distances are computed together.
const BLOCK: usize = 256;
/// The least variance, as a share of the mean square of the vectors' numbers, and the mean squared
/// distance that is none: vectors are computed in f32, and copies of one differ by rounding.
const LEAST_VARIANCE: f64 = 1e-6;
const LEAST_DISTANCE: f64 = 1e-4;

/// A Gaussian around the mean of every class with the covariance they share, and one of all
/// vectors.
#[derive(Clone, Debug)]
pub struct ClassGaussians {
    /// Whitened means of the classes.
    means: Array2<f64>,
    lengths: Vec<f64>,
    log_shares: Vec<f64>,
    within: Array2<f64>,
    mean: Array1<f64>,
    overall: Array2<f64>,
}

impl ClassGaussians {
    /// The Gaussians of sums. A share of the mean variance is added to the covariances, more the
    /// fewer vectors there are for their width.
    pub fn of(sums: &ClassSums, shrinkage: f64) -> Result<Self> {
        let within = whitening(sums.within()?, sums.mean_square(), shrinkage)?;
        let overall = whitening(sums.total()?, sums.mean_square(), shrinkage)?;
        let means = sums.means().dot(&within);
        let lengths = means.axis_iter(Axis(0)).map(|mean| mean.dot(&mean)).collect();
        let present = sums.counts().iter().filter(|count| **count > 0.0);
        let log_shares = present.map(|count| (count / sums.rows()).ln()).collect();
        let mean = sums.mean();
        Ok(Self { means, lengths, log_shares, within, mean, overall })
    }

    /// The squared Mahalanobis distance to the nearest class's mean (Lee et al., 2018).
    pub fn mahalanobis(&self, vectors: ArrayView2<'_, f32>) -> Vec<f64> {
        self.each(vectors, |distances, _| nearest(distances))
    }

    /// The same less the squared distance from the mean of all (Ren et al., 2021).
    pub fn relative_mahalanobis(&self, vectors: ArrayView2<'_, f32>) -> Vec<f64> {
        self.each(vectors, |distances, background| nearest(distances) - background)
    }

    /// The negative logarithm of the density, up to a constant: deep deterministic uncertainty
    /// (Mukhoti et al., 2023) with the covariance that the classes share, since covariances of
    /// their own would need more examples a class than the vectors have numbers.
    pub fn negative_log_density(&self, vectors: ArrayView2<'_, f32>) -> Vec<f64> {
        self.each(vectors, |distances, _| {
            let terms = distances.iter().zip(&self.log_shares).map(|(d, share)| share - d / 2.0);
            -log_sum_exp(terms)
        })
    }

    /// `W` with `W W^T` the inverse of the covariance that the classes share.
    pub fn whitening(&self) -> &Array2<f64> {
        &self.within
    }

    /// The means of the classes times that.
    pub fn white_means(&self) -> &Array2<f64> {
        &self.means
    }

    /// Squared distances to classes below this one are rounding, and none.
    pub fn least_distance(&self) -> f64 {
        LEAST_DISTANCE * self.within.nrows() as f64
    }

    /// The logarithm of every class's share of the vectors.
    pub fn log_shares(&self) -> &[f64] {
        &self.log_shares
    }

    /// The mean of all vectors, and `W` with `W W^T` the inverse of their covariance around it.
    pub fn overall(&self) -> (&Array1<f64>, &Array2<f64>) {
        (&self.mean, &self.overall)
    }

    /// Calls `score` with the squared distances of every vector to the classes and to the mean.
    fn each(
        &self,
        vectors: ArrayView2<'_, f32>,
        score: impl Fn(&[f64], f64) -> f64 + Sync,
    ) -> Vec<f64> {
        let blocks: Vec<ArrayView2<'_, f32>> = vectors.axis_chunks_iter(Axis(0), BLOCK).collect();
        let least = self.least_distance();
        let block = |vectors: &ArrayView2<'_, f32>| {
            let wide = vectors.mapv(f64::from);
            let white = wide.dot(&self.within);
            let products = white.dot(&self.means.t());
            let background = (wide - &self.mean).dot(&self.overall);
            let rows = white.axis_iter(Axis(0)).zip(products.axis_iter(Axis(0)));
            let rows = rows.zip(background.axis_iter(Axis(0)));
            rows.map(|((row, products), background)| {
                let own = row.dot(&row);
                // Not `f64::max`, which would make a number of what is none.
                let to = |(product, length): (&f64, &f64)| match own - 2.0 * product + length {
                    none if none < least => 0.0,
                    distance => distance,
                };
                let distances: Vec<f64> = products.iter().zip(&self.lengths).map(to).collect();
                score(&distances, background.dot(&background))
            })
            .collect::<Vec<f64>>()
        };
        blocks.par_iter().flat_map_iter(block).collect()
    }
}

/// The least, or none where one is none: `f64::min` would take any number over that.
fn nearest(distances: &[f64]) -> f64 {
    distances.iter().copied().fold(f64::INFINITY, |a, b| if b.is_nan() || b < a { b } else { a })
}

/// `W` with `W W^T` the inverse of a covariance. Where all vectors of a class are the same there is
/// none but rounding; the scale of the vectors themselves says how little that is.
fn whitening(covariance: Array2<f64>, scale: f64, shrinkage: f64) -> Result<Array2<f64>> {
    let width = covariance.nrows();
    let mean = covariance.diag().sum() / width.max(1) as f64;
    let ridge = (shrinkage * mean).max(LEAST_VARIANCE * scale).max(f64::MIN_POSITIVE.sqrt());
    let matrix =
        Mat::from_fn(width, width, |i, j| covariance[[i, j]] + if i == j { ridge } else { 0.0 });
    let hint = "the vectors may have columns that are not finite or far too large";
    let what = "the covariance of the hidden vectors";
    let root = cholesky_jittered(matrix.as_ref(), scale, what, hint)?;
    let mut inverse = Mat::<f64>::zeros(width, width);
    invert_lower_triangular(inverse.as_mut(), root.as_ref(), Par::rayon(0));
    Ok(Array2::from_shape_fn((width, width), |(i, j)| if j >= i { inverse[(j, i)] } else { 0.0 }))
}
