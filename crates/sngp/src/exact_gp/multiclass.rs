//! Three classes or more: one latent a class with a softmax likelihood.

use faer::{Mat, MatRef};
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::data::{Training, check_test_inputs};
use super::kernel::{rbf, tile};
use super::linalg::{
    cholesky, cholesky_scaled, minus_gram, product, scaled_inverse, solve, solve_lower,
};
use super::newton::{self, Likelihood};
use super::tiles::{LANES, Triangle, by_tile, weighted_sums};
use super::{LatentPrediction, check_mode};
use crate::Result;

/// Laplace approximation of softmax Gaussian process classification.
///
/// The latents of different classes are independent a priori; the likelihood couples them
/// through its curvature `W = diag(p) - P P^T` (Rasmussen & Williams, algorithms 3.3 and 3.4).
/// With `E_c = (K + diag(p_c)^-1)^-1`:
///
/// ```text
/// mean_c(x)     = k*^T (y_c - p_c)
/// variance_c(x) = 1 - k*^T Q_c k*,   Q_c = E_c - E_c (sum_j E_j)^-1 E_c
/// ```
///
/// Covariances between classes are not computed. Two classes are accepted; note that the
/// difference of two latents has twice the prior variance of the one in a [`BinaryGp`].
///
/// ```
/// use ndarray::array;
/// use sngp::exact_gp::MulticlassGp;
///
/// let gp = MulticlassGp::fit(array![[-2.0], [0.0], [2.0]].view(), &[0, 1, 2], 3, 0.5)?;
/// let latent = gp.predict(array![[0.1], [30.0]].view())?;
/// assert!(latent.mean[[0, 1]] > latent.mean[[0, 0]]);
/// assert_eq!(latent.variance.row(1).to_vec(), [1.0, 1.0, 1.0]);
/// # Ok::<(), sngp::Error>(())
/// ```
///
/// [`BinaryGp`]: super::BinaryGp
#[derive(Clone, Debug)]
pub struct MulticlassGp {
    training: Training,
    mode: Mat<f64>,
    /// `y - p`, which is `K^-1 f^` at the mode.
    gradient: Mat<f64>,
    /// `Q_c` of every class.
    explained: Vec<Triangle>,
}

impl MulticlassGp {
    /// Finds the mode for `inputs` `[n, d]` and labels below `classes`, at least two of them
    /// present.
    pub fn fit(
        inputs: ArrayView2<f64>,
        labels: &[usize],
        classes: usize,
        length_scale: f64,
    ) -> Result<Self> {
        let training = Training::new(inputs, labels, classes, length_scale)?;
        let kernel = rbf(training.inputs.view(), training.inputs.view(), length_scale)?;
        let mode = newton::mode(kernel.as_ref(), &Softmax { labels: &training.labels, classes })?;
        drop(kernel);
        Self::from_mode(training, mode)
    }

    pub(super) fn from_mode(training: Training, mode: Mat<f64>) -> Result<Self> {
        let inputs = training.inputs.view();
        let kernel = rbf(inputs, inputs, training.length_scale)?;
        let likelihood = Softmax { labels: &training.labels, classes: training.classes };
        let probabilities = softmax(mode.as_ref());
        let gradient = likelihood.gradient(&probabilities);
        check_mode(kernel.as_ref(), gradient.as_ref(), mode.as_ref())?;
        let Curvature { by_class, total } = Curvature::new(kernel.as_ref(), &probabilities)?;
        let explained = by_class
            .into_par_iter()
            .map(|e| {
                let shared = solve_lower(total.as_ref(), e.clone());
                Triangle::from_lower(minus_gram(e, shared.as_ref()).as_ref())
            })
            .collect();
        Ok(Self { training, mode, gradient, explained })
    }

    /// The latents of the training rows at the mode of their posterior, `[n, K]`.
    pub fn latent_mode(&self) -> MatRef<'_, f64> {
        self.mode.as_ref()
    }

    pub(super) fn parts(&self) -> (&Training, MatRef<'_, f64>) {
        (&self.training, self.mode.as_ref())
    }

    /// The latents' means `[n, K]` and variances `[n, K]`, in `[0, 1]`, at `test` `[n, d]`.
    pub fn predict(&self, test: ArrayView2<f64>) -> Result<LatentPrediction> {
        let inputs = self.training.inputs.view();
        check_test_inputs(test, inputs.ncols())?;
        let tiles = by_tile(test, |rows| {
            let tile = tile(inputs, rows, self.training.length_scale);
            let means = weighted_sums(&tile, &self.gradient);
            let explained = self.explained.iter().map(|q| q.quadratic(&tile));
            let variances = explained.map(|lanes| lanes.map(|form| (1.0 - form).clamp(0.0, 1.0)));
            (means, variances.collect::<Vec<_>>())
        });
        let shape = (test.nrows(), self.training.classes);
        let mean = Array2::from_shape_fn(shape, |(i, c)| tiles[i / LANES].0[c][i % LANES]);
        let variance = Array2::from_shape_fn(shape, |(i, c)| tiles[i / LANES].1[c][i % LANES]);
        Ok(LatentPrediction { mean, variance })
    }
}

struct Softmax<'a> {
    labels: &'a [usize],
    classes: usize,
}

impl Softmax<'_> {
    /// `y - p`.
    fn gradient(&self, probabilities: &Mat<f64>) -> Mat<f64> {
        Mat::from_fn(self.labels.len(), self.classes, |i, c| {
            f64::from(u8::from(self.labels[i] == c)) - probabilities[(i, c)]
        })
    }
}

impl Likelihood for Softmax<'_> {
    fn width(&self) -> usize {
        self.classes
    }

    fn log_likelihood(&self, latents: MatRef<f64>) -> f64 {
        let rows = self.labels.iter().enumerate();
        rows.map(|(i, &label)| latents[(i, label)] - log_sum_exp(latents, i)).sum()
    }

    /// Algorithm 3.3, lines 3 to 11.
    fn newton_weights(&self, kernel: MatRef<f64>, latents: MatRef<f64>) -> Result<Mat<f64>> {
        let probabilities = softmax(latents);
        let gradient = self.gradient(&probabilities);
        let shape = latents.shape();
        let expected: Vec<f64> = (0..shape.0)
            .map(|i| (0..shape.1).map(|c| probabilities[(i, c)] * latents[(i, c)]).sum())
            .collect();
        let b = Mat::from_fn(shape.0, shape.1, |i, c| {
            probabilities[(i, c)] * (latents[(i, c)] - expected[i]) + gradient[(i, c)]
        });
        let curvature = Curvature::new(kernel, &probabilities)?;
        let along = curvature.apply(&product(kernel, b.as_ref()));
        let sum = Mat::from_fn(shape.0, 1, |i, _| (0..shape.1).map(|c| along[(i, c)]).sum());
        let shared = solve(curvature.total.as_ref(), sum);
        let coupled = curvature.apply(&Mat::from_fn(shape.0, shape.1, |i, _| shared[(i, 0)]));
        Ok(b - along + coupled)
    }
}

/// `E_c = D_c^1/2 (I + D_c^1/2 K D_c^1/2)^-1 D_c^1/2`, `D_c = diag(p_c)`, and the Cholesky factor
/// of their sum.
struct Curvature {
    by_class: Vec<Mat<f64>>,
    total: Mat<f64>,
}

impl Curvature {
    fn new(kernel: MatRef<f64>, probabilities: &Mat<f64>) -> Result<Self> {
        let by_class = (0..probabilities.ncols())
            .into_par_iter()
            .map(|c| {
                let column = probabilities.col_as_slice(c);
                let root: Vec<f64> = column.iter().map(|p| p.sqrt()).collect();
                Ok(scaled_inverse(cholesky_scaled(kernel, &root)?.as_ref(), &root))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut total = by_class[0].clone();
        by_class[1..].iter().for_each(|e| total += e);
        // Every row's probabilities sum to one, so some class holds up every direction.
        let hint = "the latents have overflowed; check the scale of the inputs";
        Ok(Self { by_class, total: cholesky(total, "the sum of E_c", hint)? })
    }

    /// `E_c v_c` for every column `v_c`.
    fn apply(&self, vectors: &Mat<f64>) -> Mat<f64> {
        let mut out = Mat::zeros(vectors.nrows(), vectors.ncols());
        for (c, e) in self.by_class.iter().enumerate() {
            let column = product(e.as_ref(), vectors.as_ref().subcols(c, 1));
            out.col_mut(c).copy_from(column.col(0));
        }
        out
    }
}

fn softmax(latents: MatRef<f64>) -> Mat<f64> {
    let normalizers: Vec<f64> = (0..latents.nrows()).map(|i| log_sum_exp(latents, i)).collect();
    Mat::from_fn(latents.nrows(), latents.ncols(), |i, c| (latents[(i, c)] - normalizers[i]).exp())
}

fn log_sum_exp(latents: MatRef<f64>, row: usize) -> f64 {
    crate::predict::log_sum_exp((0..latents.ncols()).map(|c| latents[(row, c)]))
}
