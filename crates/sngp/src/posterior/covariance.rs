//! The finished covariance as a triangular factor.

use burn::tensor::{Device, Tensor, TensorData};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::{ColRef, Mat, MatRef, Par, Scale};
use ndarray::{Array1, Array2, ArrayView2};

use crate::linalg::{cholesky_jittered, row_major};
use crate::{Error, Result};

/// `S_k = F_k^T F_k` with `F_k = sqrt(s) R_k^-1` and `s I + P_k = R_k R_k^T`.
///
/// The variance is `||F_k phi||^2`: diagonal only, never a batch x batch matrix, and on any
/// device a plain product.
#[derive(Clone, Debug)]
pub struct Covariance {
    factors: Vec<Mat<f64>>,
}

impl Covariance {
    /// The factor of one precision matrix (its lower triangle) under a ridge. Features that depend
    /// on each other (columns that are constant or copies) leave a matrix that is positive only up
    /// to rounding: as little as helps is added to its diagonal then.
    pub(super) fn factor(sum: MatRef<'_, f64>, ridge: f64) -> Result<Mat<f64>> {
        let n = sum.nrows();
        let largest = (0..n).map(|i| sum[(i, i)]).fold(0.0, f64::max);
        let mut regularized = sum.to_owned();
        for i in 0..n {
            regularized[(i, i)] += ridge;
        }
        let hint = "accumulate it in f64 from finite features, or raise the ridge";
        let what = "the posterior precision";
        let root = cholesky_jittered(regularized.as_ref(), largest, what, hint)?;
        let mut factor = Mat::<f64>::zeros(n, n);
        invert_lower_triangular(factor.as_mut(), root.as_ref(), Par::rayon(0));
        factor *= Scale(ridge.sqrt());
        Ok(factor)
    }

    /// A covariance from lower-triangular factors, e.g. saved ones.
    pub fn from_factors(factors: Vec<Mat<f64>>) -> Result<Self> {
        match factors.first() {
            Some(first) if factors.iter().all(|f| f.shape() == (first.nrows(), first.nrows())) => {
                Ok(Self { factors })
            }
            _ => Err(Error::Data("a covariance needs square factors of one size".to_string())),
        }
    }

    /// Variances `[rows, matrices]` of features `[rows, dimension]`, in f64.
    pub fn variance(&self, features: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if features.ncols() != self.dimension() {
            return Err(Error::shape("features", self.dimension(), features.ncols()));
        }
        let owned = features.as_standard_layout().into_owned();
        let features = row_major(&owned);
        let mut variance = Array2::zeros((features.nrows(), self.factors.len()));
        for (k, factor) in self.factors.iter().enumerate() {
            let image = features * factor.transpose();
            for row in 0..features.nrows() {
                variance[[row, k]] = image.row(row).squared_norm_l2();
            }
        }
        Ok(variance)
    }

    /// `S v` of the first matrix.
    pub(crate) fn times_vector(&self, vector: &Array1<f64>) -> Array1<f64> {
        let values = vector.to_vec();
        let (factor, column) = (&self.factors[0], ColRef::from_slice(&values));
        let product = factor.transpose() * (factor * column);
        product.iter().copied().collect()
    }

    /// The trace of the first `S`.
    pub(crate) fn trace(&self) -> f64 {
        self.factors[0].squared_norm_l2()
    }

    /// The factors on a device, `[matrices, dimension, dimension]`, already transposed so that
    /// `features x factor` is the product to take.
    pub fn to_device(&self, device: &Device) -> Tensor<3> {
        let n = self.dimension();
        let values: Vec<f32> = self
            .factors
            .iter()
            .flat_map(|f| (0..n).flat_map(move |i| (0..n).map(move |j| f[(j, i)] as f32)))
            .collect();
        Tensor::from_data(TensorData::new(values, [self.factors.len(), n, n]), device)
    }

    /// The number of features.
    pub fn dimension(&self) -> usize {
        self.factors[0].nrows()
    }

    /// The number of matrices: one, or one a class.
    pub fn matrices(&self) -> usize {
        self.factors.len()
    }
}
