//! The detectors people would otherwise use, on the same vectors, to compare with.

use faer::{Mat, Side};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;
use sngp::{Error, Result};

/// A share of the mean variance is added to covariances so that they can be inverted.
const SHRINKAGE: f64 = 1e-3;

/// Distances of vectors from reference vectors whose classes are known.
pub struct Detectors {
    reference: Array2<f32>,
    lengths: Vec<f32>,
    means: Array2<f64>,
    mean: Array1<f64>,
    /// Whitening matrices of the covariance within classes and of all vectors.
    within: Array2<f64>,
    overall: Array2<f64>,
}

/// A distance: larger means further from the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// Distance to the nearest reference vector.
    Knn,
    /// Mahalanobis distance to the nearest class's mean (Lee et al., 2018).
    Mahalanobis,
    /// The same less the distance to the mean of all (Ren et al., 2021).
    RelativeMahalanobis,
}

impl Detector {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Knn, Self::Mahalanobis, Self::RelativeMahalanobis];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Knn => "knn",
            Self::Mahalanobis => "mahalanobis",
            Self::RelativeMahalanobis => "relative_mahalanobis",
        }
    }
}

impl Detectors {
    /// Learns means and covariances.
    ///
    /// ```
    /// use ndarray::array;
    /// use sngp_report::evaluation::{Detector, Detectors};
    ///
    /// let reference = array![[0.0, 0.0], [0.1, 0.2], [5.0, 5.0], [5.2, 5.1]];
    /// let detectors = Detectors::fit(reference, &[0, 0, 1, 1], 2)?;
    /// for detector in Detector::ALL {
    ///     let d = detectors.distances(detector, array![[0.0, 0.1], [9.0, -9.0]].view());
    ///     assert!(d[1] > d[0], "{detector:?}");
    /// }
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn fit(reference: Array2<f32>, classes: &[usize], count: usize) -> Result<Self> {
        let (rows, width) = reference.dim();
        if rows != classes.len() {
            return Err(Error::shape("classes of the reference vectors", rows, classes.len()));
        }
        let mut means = Array2::<f64>::zeros((count, width));
        let mut members = vec![0.0f64; count];
        for (row, &class) in reference.axis_iter(Axis(0)).zip(classes) {
            members[class] += 1.0;
            means.row_mut(class).zip_mut_with(&row, |sum, &value| *sum += f64::from(value));
        }
        let mean = means.sum_axis(Axis(0)) / rows as f64;
        for (mut mean, &members) in means.axis_iter_mut(Axis(0)).zip(&members) {
            mean /= members.max(1.0);
        }
        let within = whitening(reference.view(), |row| means.row(classes[row]).to_owned())?;
        let overall = whitening(reference.view(), |_| mean.clone())?;
        // A class without examples has no mean to be near to.
        let present: Vec<usize> = (0..count).filter(|&class| members[class] > 0.0).collect();
        let means = means.select(Axis(0), &present);
        let lengths = reference.axis_iter(Axis(0)).map(|row| row.dot(&row)).collect();
        Ok(Self { reference, lengths, means, mean, within, overall })
    }

    /// The distance of every vector.
    pub fn distances(&self, detector: Detector, vectors: ArrayView2<'_, f32>) -> Vec<f64> {
        const BLOCK: usize = 256;
        let blocks: Vec<ArrayView2<'_, f32>> = vectors.axis_chunks_iter(Axis(0), BLOCK).collect();
        let block = |vectors: &ArrayView2<'_, f32>| match detector {
            Detector::Knn => self.nearest(*vectors),
            Detector::Mahalanobis => self.class_distances(*vectors),
            Detector::RelativeMahalanobis => {
                let wide = vectors.mapv(f64::from) - &self.mean;
                let background = wide.dot(&self.overall);
                let own = self.class_distances(*vectors).into_iter();
                let rows = background.axis_iter(Axis(0));
                own.zip(rows).map(|(own, row)| own - row.dot(&row)).collect()
            }
        };
        blocks.par_iter().flat_map_iter(block).collect()
    }

    fn nearest(&self, vectors: ArrayView2<'_, f32>) -> Vec<f64> {
        let products = vectors.dot(&self.reference.t());
        let rows = vectors.axis_iter(Axis(0)).zip(products.axis_iter(Axis(0)));
        rows.map(|(vector, products)| {
            let least = products
                .iter()
                .zip(&self.lengths)
                .map(|(product, length)| length - 2.0 * product)
                .fold(f32::INFINITY, f32::min);
            f64::from((vector.dot(&vector) + least).max(0.0)).sqrt()
        })
        .collect()
    }

    fn class_distances(&self, vectors: ArrayView2<'_, f32>) -> Vec<f64> {
        let white = vectors.mapv(f64::from).dot(&self.within);
        let means = self.means.dot(&self.within);
        let lengths: Vec<f64> = means.axis_iter(Axis(0)).map(|mean| mean.dot(&mean)).collect();
        let products = white.dot(&means.t());
        let rows = white.axis_iter(Axis(0)).zip(products.axis_iter(Axis(0)));
        rows.map(|(row, products)| {
            let least = products
                .iter()
                .zip(&lengths)
                .map(|(product, length)| length - 2.0 * product)
                .fold(f64::INFINITY, f64::min);
            row.dot(&row) + least
        })
        .collect()
    }
}

/// `W` with `W W^T` the inverse covariance around each row's centre.
fn whitening(
    vectors: ArrayView2<'_, f32>,
    centre: impl Fn(usize) -> Array1<f64>,
) -> Result<Array2<f64>> {
    let (rows, width) = vectors.dim();
    let mut covariance = Array2::<f64>::zeros((width, width));
    const BLOCK: usize = 1024;
    for (block, part) in vectors.axis_chunks_iter(Axis(0), BLOCK).enumerate() {
        let mut centred = part.mapv(f64::from);
        for (index, mut row) in centred.axis_iter_mut(Axis(0)).enumerate() {
            row -= &centre(block * BLOCK + index);
        }
        covariance += &centred.t().dot(&centred);
    }
    covariance /= rows as f64;
    let shrinkage = SHRINKAGE * covariance.diag().sum() / width as f64 + f64::MIN_POSITIVE;
    let matrix = Mat::from_fn(width, width, |i, j| {
        covariance[[i, j]] + if i == j { shrinkage } else { 0.0 }
    });
    let eigen = matrix
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| Error::Data("the covariance has no eigenvalues".to_string()))?;
    let (vectors, values) = (eigen.U(), eigen.S().column_vector());
    Ok(Array2::from_shape_fn((width, width), |(i, j)| vectors[(i, j)] / values[j].sqrt()))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn mahalanobis_measures_in_standard_deviations() {
        // Two classes, variance 1 along x and 100 along y.
        let reference = array![
            [-1.0f32, -10.0],
            [1.0, -10.0],
            [-1.0, 10.0],
            [1.0, 10.0],
            [49.0, -10.0],
            [51.0, -10.0],
            [49.0, 10.0],
            [51.0, 10.0]
        ];
        let detectors = Detectors::fit(reference, &[0, 0, 0, 0, 1, 1, 1, 1], 2).unwrap();
        let points = array![[0.0f32, 20.0], [2.0, 0.0], [48.0, 0.0], [0.0, 0.0]];
        let d = detectors.distances(Detector::Mahalanobis, points.view());
        // The shrinkage adds a thousandth of the mean variance, 0.05, to the variance of x.
        for (found, known) in d.iter().zip([4.0, 4.0 / 1.0505, 4.0 / 1.0505, 0.0]) {
            assert!((found - known).abs() < 0.01, "{d:?}");
        }
    }

    #[test]
    fn nearest_is_the_distance_to_the_nearest() {
        let detectors = Detectors::fit(array![[0.0f32, 0.0], [3.0, 4.0]], &[0, 1], 2).unwrap();
        let d = detectors.distances(Detector::Knn, array![[0.0f32, 0.0], [3.0, 5.0]].view());
        assert!(d[0] < 1e-3 && (d[1] - 1.0).abs() < 1e-3, "{d:?}");
    }
}
