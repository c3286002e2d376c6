//! Two classes: one latent with a logistic likelihood.

use faer::{Mat, MatRef};
use ndarray::{Array1, ArrayView2};

use super::check_mode;
use super::data::{Training, check_test_inputs};
use super::kernel::{rbf, tile};
use super::linalg::{cholesky_scaled, product, solve};
use super::newton::{self, Likelihood};
use super::tiles::{LANES, Triangle, by_tile, weighted_sums};
use crate::Result;
use crate::predict::sigmoid;

/// Laplace approximation of binary Gaussian process classification, `p(y = 1|f) = 1/(1 + e^-f)`.
///
/// The posterior of the latents is taken as the Gaussian at its mode `f^` with the curvature
/// there, `W = p (1 - p)` on the diagonal (Rasmussen & Williams, algorithms 3.1 and 3.2):
///
/// ```text
/// mean(x)     = k*^T (y - p)
/// variance(x) = 1 - k*^T (K + W^-1)^-1 k*
/// ```
///
/// ```
/// use ndarray::array;
/// use sngp::exact_gp::BinaryGp;
///
/// let gp = BinaryGp::fit(array![[-1.0], [1.0]].view(), &[0, 1], 1.0)?;
/// let (mean, variance) = gp.predict(array![[0.0], [1.0]].view())?;
/// assert!(mean[0].abs() < 1e-12 && mean[1] > 0.0);
/// assert!(variance[1] < variance[0]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BinaryGp {
    training: Training,
    mode: Mat<f64>,
    /// `y - p`, which is `K^-1 f^` at the mode.
    gradient: Mat<f64>,
    /// The diagonal of `W^1/2`.
    root: Vec<f64>,
    /// The Cholesky factor of `I + W^1/2 K W^1/2`.
    factor: Triangle,
}

impl BinaryGp {
    /// Finds the mode for `inputs` `[n, d]` and labels 0 or 1, both of them present.
    pub fn fit(inputs: ArrayView2<f64>, labels: &[usize], length_scale: f64) -> Result<Self> {
        let training = Training::new(inputs, labels, 2, length_scale)?;
        let kernel = rbf(training.inputs.view(), training.inputs.view(), length_scale)?;
        let mode = newton::mode(kernel.as_ref(), &Logistic { labels: &training.labels })?;
        drop(kernel);
        Self::from_mode(training, mode)
    }

    pub(super) fn from_mode(training: Training, mode: Mat<f64>) -> Result<Self> {
        let inputs = training.inputs.view();
        let kernel = rbf(inputs, inputs, training.length_scale)?;
        let likelihood = Logistic { labels: &training.labels };
        let gradient = likelihood.gradient(mode.as_ref());
        check_mode(kernel.as_ref(), gradient.as_ref(), mode.as_ref())?;
        let root = curvature_roots(mode.as_ref());
        let factor = Triangle::from_lower(cholesky_scaled(kernel.as_ref(), &root)?.as_ref());
        Ok(Self { training, mode, gradient, root, factor })
    }

    /// The latents of the training rows at the mode of their posterior.
    pub fn latent_mode(&self) -> &[f64] {
        self.mode.col_as_slice(0)
    }

    pub(super) fn parts(&self) -> (&Training, MatRef<'_, f64>) {
        (&self.training, self.mode.as_ref())
    }

    /// The latent's mean `[n]` and variance `[n]`, in `[0, 1]`, at `test` `[n, d]`.
    pub fn predict(&self, test: ArrayView2<f64>) -> Result<(Array1<f64>, Array1<f64>)> {
        let inputs = self.training.inputs.view();
        check_test_inputs(test, inputs.ncols())?;
        let tiles = by_tile(test, |rows| {
            let mut tile = tile(inputs, rows, self.training.length_scale);
            let mean = weighted_sums(&tile, &self.gradient)[0];
            for (row, root) in tile.iter_mut().zip(&self.root) {
                row.iter_mut().for_each(|value| *value *= root);
            }
            let explained = self.factor.solve_norms(&mut tile);
            (mean, explained.map(|explained| (1.0 - explained).max(0.0)))
        });
        let mean = Array1::from_shape_fn(test.nrows(), |i| tiles[i / LANES].0[i % LANES]);
        let variance = Array1::from_shape_fn(test.nrows(), |i| tiles[i / LANES].1[i % LANES]);
        Ok((mean, variance))
    }
}

struct Logistic<'a> {
    labels: &'a [usize],
}

impl Logistic<'_> {
    /// `y - p`.
    fn gradient(&self, latents: MatRef<f64>) -> Mat<f64> {
        Mat::from_fn(latents.nrows(), 1, |i, _| {
            let latent = latents[(i, 0)];
            if self.labels[i] == 1 { sigmoid(-latent) } else { -sigmoid(latent) }
        })
    }
}

impl Likelihood for Logistic<'_> {
    fn width(&self) -> usize {
        1
    }

    fn log_likelihood(&self, latents: MatRef<f64>) -> f64 {
        let rows = self.labels.iter().enumerate();
        rows.map(|(i, &label)| {
            let against = if label == 1 { -latents[(i, 0)] } else { latents[(i, 0)] };
            // log(1 + e^a) without overflow.
            -(against.max(0.0) + (-against.abs()).exp().ln_1p())
        })
        .sum()
    }

    /// Algorithm 3.1, lines 4 to 8.
    fn newton_weights(&self, kernel: MatRef<f64>, latents: MatRef<f64>) -> Result<Mat<f64>> {
        let root = curvature_roots(latents);
        let factor = cholesky_scaled(kernel, &root)?;
        let gradient = self.gradient(latents);
        let b = Mat::from_fn(latents.nrows(), 1, |i, _| {
            root[i] * root[i] * latents[(i, 0)] + gradient[(i, 0)]
        });
        let kb = product(kernel, b.as_ref());
        let scaled = Mat::from_fn(kb.nrows(), 1, |i, _| root[i] * kb[(i, 0)]);
        let solved = solve(factor.as_ref(), scaled);
        Ok(Mat::from_fn(b.nrows(), 1, |i, _| b[(i, 0)] - root[i] * solved[(i, 0)]))
    }
}

/// `sqrt(p (1 - p))` of every row.
fn curvature_roots(latents: MatRef<f64>) -> Vec<f64> {
    let roots = (0..latents.nrows()).map(|i| {
        let latent = latents[(i, 0)];
        (sigmoid(latent) * sigmoid(-latent)).sqrt()
    });
    roots.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn one_point_a_class_solves_the_scalar_equation() {
        // Far apart, each latent is alone: f = y - p(f).
        let gp = BinaryGp::fit(array![[-100.0], [100.0]].view(), &[0, 1], 1.0).unwrap();
        let f = gp.latent_mode()[1];
        assert!((f - sigmoid(-f)).abs() < 1e-10);
        assert_eq!(gp.latent_mode()[0], -f);
        let (mean, variance) = gp.predict(array![[100.0]].view()).unwrap();
        let w = sigmoid(f) * sigmoid(-f);
        assert!((mean[0] - f).abs() < 1e-10);
        assert!((variance[0] - (1.0 - 1.0 / (1.0 + 1.0 / w))).abs() < 1e-12);
    }

    #[test]
    fn repeated_points_and_disagreeing_labels_are_fine() {
        let inputs = array![[0.0], [0.0], [0.0], [0.0]];
        let gp = BinaryGp::fit(inputs.view(), &[0, 1, 1, 0], 1.0).unwrap();
        assert!(gp.latent_mode().iter().all(|f| f.abs() < 1e-12));
        assert!((gp.predict(array![[0.0]].view()).unwrap().1[0] - 0.5).abs() < 1e-12);
    }

    #[test]
    fn sigmoid_has_both_tails() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert_eq!(sigmoid(1000.0), 1.0);
        assert_eq!(sigmoid(-1000.0), 0.0);
        assert!(sigmoid(-700.0) > 0.0);
    }
}
