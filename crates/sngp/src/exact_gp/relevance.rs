//! How much each column says, by marginal likelihood.

use faer::Mat;
use ndarray::{Array2, ArrayView2, Axis};

use super::data::check_training_inputs;
use super::linalg::{cholesky, product, scaled_inverse, solve};
use crate::convex::{Function, Stop, minimize};
use crate::train::{Interrupter, check_interrupted};
use crate::{Error, Result};

const STOP: Stop = Stop { tolerance: 1e-5, iterations: 60 };
/// Where the search starts: the variances of noise and linear term beside the function's.
const START: [f64; 2] = [0.1, 0.1];
/// Added to the noise: rows that are copies of each other have a kernel matrix that is singular.
const JITTER: f64 = 1e-6;
/// Widths of the priors on the logarithms of length scales and of variances, so weak that they
/// only count where the data are silent.
const WIDTHS: [f64; 2] = [2.0, 6.0];

/// The most probable kernel `s (exp(-||z - z'||^2 / 2) + c z . z')`, `z_d = x_d / l_d`, with noise
/// `n`: one length scale a column. A column that says nothing gets a long one.
///
/// They maximise the marginal likelihood of the exact Gaussian process (Rasmussen & Williams,
/// section 5.4.1) under weak priors, so no row has to be held out for them.
///
/// ```
/// use ndarray::Array2;
/// use sngp::exact_gp::Relevance;
/// use sngp::train::Interrupter;
///
/// // The second column says nothing.
/// let x = Array2::from_shape_fn((60, 2), |(i, j)| ((i * (31 + 12 * j)) % 60) as f64 / 20.0 - 1.5);
/// let y: Vec<f64> = x.column(0).iter().map(|x| (2.0 * x).sin()).collect();
/// let found = Relevance::learn(x.view(), &y, &Interrupter::new())?;
/// assert!(found.length_scales[1] > 5.0 * found.length_scales[0]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Relevance {
    /// The length scale of each column, in its units; not squared.
    pub length_scales: Vec<f64>,
    /// The variance `s` of the function.
    pub signal: f64,
    /// The weight `c` of the linear term.
    pub linear: f64,
    /// The variance of the noise.
    pub noise: f64,
}

impl Relevance {
    /// Finds them for `inputs` `[n, d]` and their targets, which should be centred. Its cost grows
    /// with the cube of the rows.
    pub fn learn(
        inputs: ArrayView2<'_, f64>,
        targets: &[f64],
        interrupter: &Interrupter,
    ) -> Result<Self> {
        check_training_inputs(inputs)?;
        if targets.len() != inputs.nrows() {
            return Err(Error::shape("targets", inputs.nrows(), targets.len()));
        }
        if targets.iter().any(|target| !target.is_finite()) {
            return Err(Error::Data("a target is not a finite number".to_string()));
        }
        let columns = inputs.ncols();
        let mut start = vec![0.5 * (columns as f64).ln(); columns];
        start.extend([0.0, START[0].ln(), START[1].ln()]);
        let mut evidence = Evidence { inputs, targets, centre: start.clone(), interrupter };
        let found = minimize(&mut evidence, start, STOP)?.point;
        let [signal, noise, linear] = [0, 1, 2].map(|k| found[columns + k].exp());
        let length_scales: Vec<f64> = found[..columns].iter().map(|l| l.exp()).collect();
        let sound = |value: &f64| value.is_finite() && *value > 0.0;
        if !length_scales.iter().all(sound) || ![signal, noise, linear].iter().all(sound) {
            return Err(Error::Training("the length scales of the columns diverge".to_string()));
        }
        Ok(Self { length_scales, signal, linear, noise: noise + JITTER })
    }
}

/// The negative log marginal likelihood a row, as a function of the logarithms of length scales,
/// signal, noise and linear weight.
struct Evidence<'a> {
    inputs: ArrayView2<'a, f64>,
    targets: &'a [f64],
    centre: Vec<f64>,
    interrupter: &'a Interrupter,
}

impl Function for Evidence<'_> {
    fn evaluate(&mut self, point: &[f64]) -> Result<(f64, Vec<f64>)> {
        check_interrupted(self.interrupter)?;
        let (rows, columns) = self.inputs.dim();
        let scaled = self.scaled(point);
        let [signal, noise, linear] = [0, 1, 2].map(|k| point[columns + k].exp());
        let near = radial(&scaled);
        let z = Mat::from_fn(rows, columns, |i, d| scaled[[i, d]]);
        let line = product(z.as_ref(), z.transpose());
        let kernel = Mat::from_fn(rows, rows, |i, j| {
            let diagonal = if i == j { noise + JITTER } else { 0.0 };
            signal * (near[(i, j)] + linear * line[(i, j)]) + diagonal
        });
        // A point that cannot be computed is no minimum; the search takes a shorter step.
        let nowhere = || (f64::INFINITY, vec![0.0; point.len()]);
        let Ok(root) = cholesky(kernel, "the kernel matrix", "") else { return Ok(nowhere()) };
        let targets = Mat::from_fn(rows, 1, |i, _| self.targets[i]);
        let weights = solve(root.as_ref(), targets);
        let explained: f64 = (0..rows).map(|i| self.targets[i] * weights[(i, 0)]).sum();
        let determinant: f64 = (0..rows).map(|i| root[(i, i)].ln()).sum();
        let mut value = 0.5 * (explained + rows as f64 * std::f64::consts::TAU.ln()) + determinant;

        // d value / d t = tr(M dK/dt) / 2 with M = K^-1 - a a^T.
        let inverse = scaled_inverse(root.as_ref(), &vec![1.0; rows]);
        let m = Mat::from_fn(rows, rows, |i, j| {
            inverse[(i.max(j), i.min(j))] - weights[(i, 0)] * weights[(j, 0)]
        });
        let g = Mat::from_fn(rows, rows, |i, j| m[(i, j)] * near[(i, j)]);
        let (mz, gz) = (product(m.as_ref(), z.as_ref()), product(g.as_ref(), z.as_ref()));
        let sums: Vec<f64> = (0..rows).map(|i| g.col_as_slice(i).iter().sum()).collect();
        let mut gradient = Vec::with_capacity(point.len());
        let mut lines = 0.0;
        for d in 0..columns {
            let column = || (0..rows).map(|i| (i, z[(i, d)]));
            let radial: f64 = column().map(|(i, z)| z * (sums[i] * z - gz[(i, d)])).sum();
            let line: f64 = column().map(|(i, z)| z * mz[(i, d)]).sum();
            lines += line;
            gradient.push(signal * (radial - linear * line));
        }
        let radial: f64 = sums.iter().sum();
        gradient.push(0.5 * signal * (radial + linear * lines));
        gradient.push(0.5 * noise * (0..rows).map(|i| m[(i, i)]).sum::<f64>());
        gradient.push(0.5 * signal * linear * lines);
        for (k, slope) in gradient.iter_mut().enumerate() {
            let precision = WIDTHS[usize::from(k >= columns)].powi(-2);
            let distance = point[k] - self.centre[k];
            value += 0.5 * precision * distance * distance;
            *slope += precision * distance;
            *slope /= rows as f64;
        }
        Ok((value / rows as f64, gradient))
    }

    fn precondition(&self, gradient: &[f64]) -> Vec<f64> {
        gradient.to_vec()
    }
}

impl Evidence<'_> {
    fn scaled(&self, point: &[f64]) -> Array2<f64> {
        let mut scaled = self.inputs.to_owned();
        for (mut column, scale) in scaled.axis_iter_mut(Axis(1)).zip(point) {
            column *= (-scale).exp();
        }
        scaled
    }
}

/// `exp(-||z_i - z_j||^2 / 2)`.
fn radial(rows: &Array2<f64>) -> Mat<f64> {
    let mut kernel = Mat::zeros(rows.nrows(), rows.nrows());
    for i in 0..rows.nrows() {
        for j in 0..=i {
            let pairs = rows.row(i).into_iter().zip(rows.row(j));
            let square: f64 = pairs.map(|(a, b)| (a - b) * (a - b)).sum();
            kernel[(i, j)] = (-0.5 * square).exp();
            kernel[(j, i)] = kernel[(i, j)];
        }
    }
    kernel
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::seed::{Purpose, stream};

    fn normal(rows: usize, columns: usize) -> Array2<f64> {
        let mut rng = stream(5, Purpose::MonteCarlo, 0);
        Array2::from_shape_simple_fn((rows, columns), || rng.sample(StandardNormal))
    }

    #[test]
    fn the_gradient_is_that_of_the_value() {
        let inputs = normal(25, 3);
        let targets: Vec<f64> = inputs.rows().into_iter().map(|x| x[0].sin() + x[1]).collect();
        let centre = vec![0.3, 0.3, 0.3, 0.0, -2.0, -2.0];
        let interrupter = Interrupter::new();
        let mut evidence = Evidence {
            inputs: inputs.view(),
            targets: &targets,
            centre,
            interrupter: &interrupter,
        };
        let point = vec![0.2, 0.8, 1.5, 0.4, -1.5, -1.0];
        let gradient = evidence.evaluate(&point).unwrap().1;
        for k in 0..point.len() {
            let mut at = |step: f64| {
                let mut point = point.clone();
                point[k] += step;
                evidence.evaluate(&point).unwrap().0
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - gradient[k]).abs() < 1e-7, "{k}: {slope} and {}", gradient[k]);
        }
    }

    #[test]
    fn noise_and_silent_columns_are_found() {
        let drawn = normal(200, 4);
        let inputs = drawn.select(Axis(1), &[0, 1, 2]);
        let truth = |x: ndarray::ArrayView1<'_, f64>| (2.0 * x[0]).sin() + x[1] + 0.2 * x[3];
        let targets: Vec<f64> = drawn.rows().into_iter().map(truth).collect();
        let found = Relevance::learn(inputs.view(), &targets, &Interrupter::new()).unwrap();
        assert!((0.02..0.08).contains(&found.noise), "{found:?}");
        let scales = &found.length_scales;
        assert!(scales[0] < 2.0 && scales[2] > 5.0 * scales[0], "{found:?}");
    }

    #[test]
    fn copies_and_constants_stop_nothing() {
        let drawn = normal(80, 1);
        let inputs = Array2::from_shape_fn((80, 4), |(i, d)| match d {
            0 | 1 => drawn[[i / 2, 0]],
            2 => drawn[[i / 2, 0]] * (1.0 + 1e-12),
            _ => 1.0,
        });
        let targets: Vec<f64> = (0..80).map(|i| drawn[[i / 2, 0]]).collect();
        let found = Relevance::learn(inputs.view(), &targets, &Interrupter::new()).unwrap();
        assert!(found.noise < 1e-2, "{found:?}");
    }
}
