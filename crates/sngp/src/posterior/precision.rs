//! The mergeable sum behind the posterior.

use std::fmt;

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use ndarray::{Array2, ArrayView2, Axis, CowArray};

use super::Curvature;
use super::accumulation::{check_momentum, check_ridge};
use super::covariance::Covariance;
use crate::{Error, Result};

/// A SHA-256 over everything that determines the features `phi(x)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureMapHash(pub [u8; 32]);

impl fmt::Display for FeatureMapHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::hash::hex(&self.0))
    }
}

/// `P_k = sum_i w_ik phi_i phi_i^T` for every matrix of the curvature, in f64.
///
/// The sum is additive: parts from shards, devices or machines [`merge`](Self::merge) in any
/// order. It carries its row count and the hash of its feature map, and merging refuses a
/// mismatch.
///
/// ```
/// use ndarray::array;
/// use sngp::posterior::{Curvature, FeatureMapHash, Precision};
///
/// let mut precision = Precision::new(2, 1, Curvature::Gaussian, FeatureMapHash([0; 32]));
/// precision.add(array![[1.0, 0.0], [1.0, 0.0]].view(), array![[0.0], [0.0]].view())?;
/// let variance = precision.finish(1.0)?.variance(array![[1.0, 0.0], [0.0, 1.0]].view())?;
/// assert!((variance[[0, 0]] - 1.0 / 3.0).abs() < 1e-12); // seen twice: 1 / (1 + 2)
/// assert!((variance[[1, 0]] - 1.0).abs() < 1e-12); // never seen
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Precision {
    /// Lower triangles, column by column; what stands above the diagonal is not read.
    sums: Vec<Vec<f64>>,
    dimension: usize,
    rows: u64,
    curvature: Curvature,
    hash: FeatureMapHash,
    /// A moving average is an estimate of the sum, not a part of it, and does not merge.
    averaged: bool,
}

impl Precision {
    /// An empty sum for `dimension` features and a model with `outputs` logits.
    pub fn new(
        dimension: usize,
        outputs: usize,
        curvature: Curvature,
        hash: FeatureMapHash,
    ) -> Self {
        let sums = vec![vec![0.0; dimension * dimension]; curvature.matrices(outputs).max(1)];
        Self { sums, dimension, rows: 0, curvature, hash, averaged: false }
    }

    /// Adds a batch: its features `[rows, dimension]` and mean logits `[rows, outputs]`. The
    /// product of f32 features is taken in f32, a batch at a time; the sum is f64 in any case.
    pub fn add<F: FeatureValue>(
        &mut self,
        features: ArrayView2<'_, F>,
        logits: ArrayView2<'_, f64>,
    ) -> Result<()> {
        let weights = self.curvature.weights(logits)?;
        self.add_weighted(features, weights.view(), 1.0)
    }

    /// `P <- m P + (1 - m) (N / B) sum_batch w phi phi^T`, with `N = total_rows`.
    pub fn average<F: FeatureValue>(
        &mut self,
        features: ArrayView2<'_, F>,
        logits: ArrayView2<'_, f64>,
        momentum: f64,
        total_rows: usize,
    ) -> Result<()> {
        check_momentum(momentum)?;
        let weights = self.curvature.weights(logits)?;
        // A batch that is refused must not have decayed the sum.
        self.check(features, weights.view())?;
        for sum in self.sums.iter_mut().flatten() {
            *sum *= momentum;
        }
        let scale = (1.0 - momentum) * total_rows as f64 / features.nrows().max(1) as f64;
        self.averaged = true;
        self.add_weighted(features, weights.view(), scale)
    }

    /// Refuses features and weights of another shape and values that are no numbers.
    fn check<F: FeatureValue>(
        &self,
        features: ArrayView2<'_, F>,
        weights: ArrayView2<'_, f64>,
    ) -> Result<()> {
        if features.ncols() != self.dimension() {
            return Err(Error::shape("features", self.dimension(), features.ncols()));
        }
        if weights.dim() != (features.nrows(), self.sums.len()) {
            return Err(Error::shape(
                "rows and matrices of the curvature",
                format!("{} x {}", features.nrows(), self.sums.len()),
                format!("{} x {}", weights.nrows(), weights.ncols()),
            ));
        }
        if let Some(row) =
            features.axis_iter(Axis(0)).zip(weights.axis_iter(Axis(0))).position(|(f, w)| {
                !(f.iter().all(|&v| v.into().is_finite()) && w.iter().all(|v| v.is_finite()))
            })
        {
            return Err(Error::Data(format!(
                "row {row} of the batch has a non-finite feature or logit; \
                 check the inputs and whether training diverged"
            )));
        }
        Ok(())
    }

    fn add_weighted<F: FeatureValue>(
        &mut self,
        features: ArrayView2<'_, F>,
        weights: ArrayView2<'_, f64>,
        scale: f64,
    ) -> Result<()> {
        self.check(features, weights)?;
        for (sum, weight) in self.sums.iter_mut().zip(weights.axis_iter(Axis(1))) {
            let roots = weight.mapv(|w| F::from_f64((w * scale).sqrt())).insert_axis(Axis(1));
            let scaled = match roots.iter().all(|root| *root == F::one()) {
                true => features.as_standard_layout(),
                false => CowArray::from(&features * &roots),
            };
            F::add_square(sum, scaled.as_standard_layout().view());
        }
        self.rows += features.nrows() as u64;
        Ok(())
    }

    /// The same sum under the hash of the finished feature map: while a network trains, its
    /// features have no hash yet.
    pub(crate) fn with_hash(self, hash: FeatureMapHash) -> Self {
        Self { hash, ..self }
    }

    /// Adds another part of the same sum.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.check_part(other)?;
        for (sum, part) in self.sums.iter_mut().flatten().zip(other.sums.iter().flatten()) {
            *sum += part;
        }
        self.rows += other.rows;
        Ok(())
    }

    /// Takes a part out again: what [`merge`](Self::merge) added.
    ///
    /// ```
    /// use ndarray::array;
    /// use sngp::posterior::{Curvature, FeatureMapHash, Precision};
    ///
    /// let empty = Precision::new(1, 1, Curvature::Gaussian, FeatureMapHash([0; 32]));
    /// let mut part = empty.clone();
    /// part.add(array![[2.0]].view(), array![[0.0]].view())?;
    /// let mut sum = part.clone();
    /// sum.merge(&part)?;
    /// sum.remove(&part)?;
    /// assert_eq!(sum.matrix(0), part.matrix(0));
    /// sum.remove(&part)?;
    /// assert!(sum.remove(&part).is_err()); // there is nothing left to take
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn remove(&mut self, other: &Self) -> Result<()> {
        self.check_part(other)?;
        if other.rows > self.rows {
            return Err(Error::Merge(format!(
                "{} rows cannot be taken out of {}",
                other.rows, self.rows
            )));
        }
        let mut rest = self.clone();
        for (sum, part) in rest.sums.iter_mut().flatten().zip(other.sums.iter().flatten()) {
            *sum -= part;
        }
        // Rows that never were in it may leave a diagonal that no sum of squares has.
        let diagonal = |sums: &Self, k: usize, i: usize| sums.sums[k][i * (sums.dimension + 1)];
        let negative = (0..rest.matrices()).any(|k| {
            let largest = (0..rest.dimension).map(|i| diagonal(self, k, i)).fold(0.0, f64::max);
            (0..rest.dimension).any(|i| diagonal(&rest, k, i) < -1e-6 * largest)
        });
        if negative {
            let message = "these rows are not all part of the sum: it would become negative";
            return Err(Error::Merge(message.to_string()));
        }
        rest.rows -= other.rows;
        *self = rest;
        Ok(())
    }

    /// Lets everything accumulated so far count less, by a factor in (0, 1].
    pub fn fade(&mut self, factor: f64) -> Result<()> {
        if !(factor > 0.0 && factor <= 1.0) {
            return Err(Error::config("the decay", factor, "it must be in (0, 1]"));
        }
        self.sums.iter_mut().flatten().for_each(|sum| *sum *= factor);
        Ok(())
    }

    /// Refuses what is not a part of the same sum.
    fn check_part(&self, other: &Self) -> Result<()> {
        if self.hash != other.hash {
            return Err(Error::Merge(format!(
                "their feature maps differ ({} and {}); accumulate every part with the same model",
                self.hash, other.hash
            )));
        }
        if self.curvature != other.curvature || self.sums.len() != other.sums.len() {
            return Err(Error::Merge(format!(
                "their curvatures differ ({:?} x {} and {:?} x {})",
                self.curvature,
                self.sums.len(),
                other.curvature,
                other.sums.len()
            )));
        }
        if self.dimension() != other.dimension() {
            return Err(Error::Merge(format!(
                "they have {} and {} features",
                self.dimension(),
                other.dimension()
            )));
        }
        if self.averaged || other.averaged {
            let message = "a moving average is not a part of a sum; use final_pass for shards";
            return Err(Error::Merge(message.to_string()));
        }
        Ok(())
    }

    /// Adds the ridge and factorizes: `S_k = s (s I + P_k)^-1`.
    pub fn finish(&self, ridge: f64) -> Result<Covariance> {
        check_ridge(ridge)?;
        let factors = (0..self.matrices()).map(|k| Covariance::factor(self.view(k), ridge));
        Covariance::from_factors(factors.collect::<Result<_>>()?)
    }

    /// `s I + P_k`, symmetric, for matrix `k`.
    pub(super) fn with_ridge(&self, k: usize, ridge: f64) -> Mat<f64> {
        let sum = self.view(k);
        Mat::from_fn(sum.nrows(), sum.nrows(), |i, j| {
            sum[(i.max(j), i.min(j))] + if i == j { ridge } else { 0.0 }
        })
    }

    /// The matrix `P_k`, symmetric.
    pub fn matrix(&self, k: usize) -> Array2<f64> {
        let sum = self.view(k);
        let n = sum.nrows();
        Array2::from_shape_fn((n, n), |(i, j)| sum[(i.max(j), i.min(j))])
    }

    /// The lower triangle of `P_k`.
    fn view(&self, k: usize) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.sums[k], self.dimension, self.dimension)
    }

    /// The number of features.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of matrices: one, or one a class.
    pub fn matrices(&self) -> usize {
        self.sums.len()
    }

    /// How many rows went into it.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The curvature it was accumulated with.
    pub fn curvature(&self) -> Curvature {
        self.curvature
    }

    /// The hash of its feature map.
    pub fn hash(&self) -> FeatureMapHash {
        self.hash
    }

    /// Whether it is a moving average.
    pub fn is_average(&self) -> bool {
        self.averaged
    }

    /// The lower triangles row by row, matrix after matrix: the saved form.
    pub fn packed(&self) -> Vec<f64> {
        let n = self.dimension;
        let lower = |k: usize| {
            let sum = self.view(k);
            (0..n).flat_map(move |i| (0..=i).map(move |j| sum[(i, j)]))
        };
        (0..self.matrices()).flat_map(lower).collect()
    }

    /// Restores a sum from its saved form.
    pub fn from_packed(
        packed: &[f64],
        dimension: usize,
        matrices: usize,
        rows: u64,
        curvature: Curvature,
        hash: FeatureMapHash,
        averaged: bool,
    ) -> Result<Self> {
        let size = dimension * (dimension + 1) / 2;
        if packed.len() != size * matrices || dimension == 0 || matrices == 0 {
            return Err(Error::shape("entries of the precision", size * matrices, packed.len()));
        }
        if packed.iter().any(|value| !value.is_finite()) {
            return Err(Error::Data("the saved precision has a non-finite entry".to_string()));
        }
        let square = |lower: &[f64]| {
            let mut sum = vec![0.0; dimension * dimension];
            for i in 0..dimension {
                for j in 0..=i {
                    sum[j * dimension + i] = lower[i * (i + 1) / 2 + j];
                }
            }
            sum
        };
        let sums = packed.chunks(size).map(square).collect();
        Ok(Self { sums, dimension, rows, curvature, hash, averaged })
    }
}

/// What features come as: f32 from a device, f64 from one's own computation.
pub trait FeatureValue: ndarray::LinalgScalar + PartialEq + Into<f64> {
    #[doc(hidden)]
    fn from_f64(value: f64) -> Self;

    /// Adds `features^T features`, in standard layout, to the lower triangle of a column-major
    /// matrix.
    #[doc(hidden)]
    fn add_square(sum: &mut [f64], features: ArrayView2<'_, Self>);
}

impl FeatureValue for f32 {
    fn from_f64(value: f64) -> Self {
        value as Self
    }

    fn add_square(sum: &mut [f64], features: ArrayView2<'_, f32>) {
        let values = features.as_slice().expect("an array in standard layout");
        sngp_kernels::rank_update(sum, values, features.ncols());
    }
}

impl FeatureValue for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }

    fn add_square(sum: &mut [f64], features: ArrayView2<'_, f64>) {
        let (rows, n) = features.dim();
        let values = features.as_slice().expect("an array in standard layout");
        let features = MatRef::from_row_major_slice(values, rows, n);
        matmul(
            MatMut::from_column_major_slice_mut(sum, n, n),
            BlockStructure::TriangularLower,
            Accum::Add,
            features.transpose(),
            BlockStructure::Rectangular,
            features,
            BlockStructure::Rectangular,
            1.0,
            Par::rayon(0),
        );
    }
}
