//! Gaussian noise: the posterior is exact.

use faer::Mat;
use ndarray::{Array1, Array2, ArrayView2};

use super::data::{check_finite, check_test_inputs, check_training_inputs};
use super::kernel::{rbf, tile};
use super::linalg::{cholesky, solve};
use super::tiles::{LANES, Triangle, by_tile, weighted_sums};
use crate::{Error, Result};

/// Gaussian process regression with noise variance `s`.
///
/// ```text
/// mean(x)     = k*^T (K + s I)^-1 y
/// variance(x) = 1 - k*^T (K + s I)^-1 k*
/// ```
///
/// The variance is that of the function, without the noise, and depends on the inputs alone. It
/// is what a random-feature posterior with Gaussian curvature and ridge `s` converges to as
/// features are added.
///
/// ```
/// use ndarray::array;
/// use sngp::exact_gp::ExactGpRegression;
///
/// let (inputs, targets) = (array![[0.0], [1.0]], array![[2.0], [4.0]]);
/// let gp = ExactGpRegression::fit(inputs.view(), targets.view(), 1.0, 1e-6)?;
/// let (mean, variance) = gp.predict(array![[0.0], [1e3]].view())?;
/// assert!((mean[[0, 0]] - 2.0).abs() < 1e-4 && variance[0] < 1e-4);
/// assert_eq!((mean[[1, 0]], variance[1]), (0.0, 1.0));
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExactGpRegression {
    inputs: Array2<f64>,
    length_scale: f64,
    /// `(K + s I)^-1 y`, `[n, m]`.
    weights: Mat<f64>,
    /// The Cholesky factor of `K + s I`.
    factor: Triangle,
}

impl ExactGpRegression {
    /// Conditions on `inputs` `[n, d]` and `targets` `[n, m]`, one column an output; with no
    /// column there is still a variance.
    ///
    /// The noise variance may be 0 where the inputs are far enough apart for the kernel matrix to
    /// be positive definite.
    pub fn fit(
        inputs: ArrayView2<f64>,
        targets: ArrayView2<f64>,
        length_scale: f64,
        noise: f64,
    ) -> Result<Self> {
        check_training_inputs(inputs)?;
        if targets.nrows() != inputs.nrows() {
            return Err(Error::shape("rows of the targets", inputs.nrows(), targets.nrows()));
        }
        check_finite("targets", targets)?;
        if !(noise >= 0.0 && noise.is_finite()) {
            let rule = "it is a variance: zero or more, and finite";
            return Err(Error::config("noise", noise, rule));
        }
        let mut kernel = rbf(inputs, inputs, length_scale)?;
        for i in 0..inputs.nrows() {
            kernel[(i, i)] += noise;
        }
        let hint =
            "training inputs repeat or nearly so; raise the noise, or lower the length scale";
        let factor = cholesky(kernel, "the kernel matrix plus noise", hint)?;
        let targets = Mat::from_fn(targets.nrows(), targets.ncols(), |i, j| targets[[i, j]]);
        let weights = solve(factor.as_ref(), targets);
        let inputs = inputs.as_standard_layout().into_owned();
        let factor = Triangle::from_lower(factor.as_ref());
        Ok(Self { inputs, length_scale, weights, factor })
    }

    /// The function's mean `[n, m]` and variance `[n]`, in `[0, 1]`, at `test` `[n, d]`.
    pub fn predict(&self, test: ArrayView2<f64>) -> Result<(Array2<f64>, Array1<f64>)> {
        check_test_inputs(test, self.inputs.ncols())?;
        let tiles = by_tile(test, |rows| {
            let mut tile = tile(self.inputs.view(), rows, self.length_scale);
            let means = weighted_sums(&tile, &self.weights);
            let explained = self.factor.solve_norms(&mut tile);
            (means, explained.map(|explained| (1.0 - explained).max(0.0)))
        });
        let shape = (test.nrows(), self.weights.ncols());
        let mean = Array2::from_shape_fn(shape, |(i, j)| tiles[i / LANES].0[j][i % LANES]);
        let variance = Array1::from_shape_fn(shape.0, |i| tiles[i / LANES].1[i % LANES]);
        Ok((mean, variance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn two_points_by_hand() {
        let (l, s) = (0.8, 0.3);
        let inputs = array![[0.0], [1.0]];
        let targets = array![[1.0, 0.0], [-2.0, 5.0]];
        let gp = ExactGpRegression::fit(inputs.view(), targets.view(), l, s).unwrap();
        let (mean, variance) = gp.predict(array![[0.25]].view()).unwrap();

        let k = |a: f64, b: f64| (-(a - b) * (a - b) / (2.0 * l)).exp();
        let (diagonal, off) = (1.0 + s, k(0.0, 1.0));
        let determinant = diagonal * diagonal - off * off;
        let (u, v) = (k(0.25, 0.0), k(0.25, 1.0));
        let weights =
            [(diagonal * u - off * v) / determinant, (diagonal * v - off * u) / determinant];
        assert!((mean[[0, 0]] - (weights[0] - 2.0 * weights[1])).abs() < 1e-14);
        assert!((mean[[0, 1]] - 5.0 * weights[1]).abs() < 1e-14);
        assert!((variance[0] - (1.0 - weights[0] * u - weights[1] * v)).abs() < 1e-14);
    }

    #[test]
    fn bad_input_is_refused() {
        let (x, y) = (array![[0.0], [0.0]], array![[1.0], [2.0]]);
        let fit = |noise| ExactGpRegression::fit(x.view(), y.view(), 1.0, noise);
        let error = fit(0.0).unwrap_err();
        assert!(matches!(error, Error::NotPositiveDefinite { pivot: 1, .. }), "{error}");
        for noise in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(fit(noise), Err(Error::Config { .. })));
        }
        let gp = fit(0.1).unwrap();
        assert!(matches!(gp.predict(array![[0.0, 1.0]].view()), Err(Error::Shape { .. })));
        assert!(matches!(gp.predict(array![[f64::NAN]].view()), Err(Error::Data(_))));
        assert_eq!(gp.predict(Array2::zeros((0, 1)).view()).unwrap().0.dim(), (0, 1));

        let fit = |x: Array2<f64>, y: Array2<f64>| {
            ExactGpRegression::fit(x.view(), y.view(), 1.0, 0.1).map(|_| ())
        };
        assert!(matches!(fit(Array2::zeros((0, 2)), y.clone()), Err(Error::Data(_))));
        assert!(matches!(fit(x.clone(), array![[1.0]]), Err(Error::Shape { .. })));
        assert!(matches!(fit(x.clone(), array![[1.0], [f64::INFINITY]]), Err(Error::Data(_))));
        assert!(matches!(
            fit(Array2::zeros((5001, 1)), Array2::zeros((5001, 1))),
            Err(Error::Data(_))
        ));
    }
}
