//! Block coordinate ascent in the dual.

use ndarray::{Array2, ArrayViewMut1, Axis};
use rand::seq::SliceRandom;

use super::softmax_step::settle;
use super::{LinearMap, SparseRows};
use crate::data::Targets;
use crate::seed::{Purpose, stream};
use crate::{Error, Result};

/// The duality gap a row at which nothing is left to gain, and passes at the most.
const GAP: f64 = 0.01;
const PASSES: usize = 50;

/// `sum_i loss_i(W^T x_i) + ||W||^2 / (2 strength)` over some rows: the cross-entropy of classes, half
/// the squared error of numbers.
#[derive(Clone, Copy, Debug)]
pub struct LinearProblem<'a> {
    /// All rows.
    pub rows: &'a SparseRows,
    /// Those that are learned from.
    pub some: &'a [usize],
    /// The targets of all rows.
    pub targets: &'a Targets,
    /// How large the weights may get: scikit-learn's `C`.
    pub strength: f32,
}

/// A solved map.
#[derive(Clone, Debug)]
pub struct LinearSolution {
    /// The map.
    pub map: LinearMap,
    /// The dual variables, one row for each of `some`: what is left to explain of a target, so that
    /// `W = strength sum_i x_i dual_i^T`. For classes it is the class less the probabilities.
    pub duals: Array2<f32>,
    /// Passes over the rows.
    pub passes: usize,
    /// How far a row is from the minimum at the most, in the mean.
    pub gap: f64,
}

/// Solves it, from dual variables that are nearly right where there are some. One thread: solve
/// several at a time.
pub fn fit_linear(
    problem: &LinearProblem<'_>,
    start: Option<Array2<f32>>,
) -> Result<LinearSolution> {
    let LinearProblem { rows, some, targets, strength } = *problem;
    if !(strength.is_finite() && strength > 0.0) {
        return Err(Error::config("the strength of a map", strength, "it must be positive"));
    }
    if targets.rows() != rows.rows() {
        return Err(Error::shape("targets of sparse rows", rows.rows(), targets.rows()));
    }
    let outputs = match targets {
        Targets::Classes { classes, .. } => *classes,
        Targets::Values(_) => 1,
    };
    let mut map = LinearMap::zeros(rows.width(), outputs);
    let mut duals = start.unwrap_or_else(|| Array2::zeros((some.len(), outputs)));
    if duals.dim() != (some.len(), outputs) {
        return Err(Error::shape("dual variables", some.len() * outputs, duals.len()));
    }
    for (&row, dual) in some.iter().zip(duals.axis_iter(Axis(0))) {
        let (places, values) = rows.row(row);
        let step: Vec<f32> = dual.iter().map(|dual| strength * dual).collect();
        map.add(places, values, &step);
    }
    let mut order: Vec<usize> = (0..some.len()).collect();
    let mut rng = stream(0, Purpose::Shuffle, 0);
    let mut work = Work::new(outputs);
    let (mut passes, mut gap) = (0, 0.0);
    while passes < PASSES {
        order.shuffle(&mut rng);
        let gaps = order.iter().map(|&index| {
            let (places, values) = rows.row(some[index]);
            let dual = duals.index_axis_mut(Axis(0), index);
            work.row(&mut map, (places, values), targets, some[index], dual, strength)
        });
        gap = gaps.sum::<f64>() / some.len().max(1) as f64;
        passes += 1;
        if gap < GAP {
            break;
        }
    }
    Ok(LinearSolution { map, duals, passes, gap })
}

/// Numbers of one row, kept between rows.
struct Work {
    outputs: Vec<f32>,
    aims: Vec<f32>,
    new: Vec<f32>,
    step: Vec<f32>,
}

impl Work {
    fn new(outputs: usize) -> Self {
        let zeros = vec![0.0; outputs];
        Self { outputs: zeros.clone(), aims: zeros.clone(), new: zeros.clone(), step: zeros }
    }

    /// Settles a row and returns its gap before that.
    fn row(
        &mut self,
        map: &mut LinearMap,
        (places, values): (&[u32], &[f32]),
        targets: &Targets,
        row: usize,
        mut dual: ArrayViewMut1<'_, f32>,
        strength: f32,
    ) -> f64 {
        let kappa = strength * values.iter().map(|value| value * value).sum::<f32>();
        if kappa <= 0.0 {
            // Nothing is known of it, and nothing can be learned from it.
            return 0.0;
        }
        self.outputs.fill(0.0);
        map.apply(places, values, &mut self.outputs);
        let gap = match targets {
            Targets::Classes { labels, .. } => self.class(labels[row], &dual, kappa),
            Targets::Values(numbers) => self.number(numbers[row], dual[0], kappa),
        };
        for ((step, new), dual) in self.step.iter_mut().zip(&self.new).zip(&mut dual) {
            *step = strength * (new - *dual);
            *dual = *new;
        }
        map.add(places, values, &self.step);
        gap
    }

    /// The dual variables `y - p` of a class with `p = softmax(z)`, where `z` follows them; the gap is
    /// the divergence of the old `p` from the softmax.
    fn class(&mut self, label: usize, dual: &ArrayViewMut1<'_, f32>, kappa: f32) -> f64 {
        let one = |class: usize| if class == label { 1.0 } else { 0.0 };
        let largest = self.outputs.iter().copied().fold(f32::MIN, f32::max);
        let sum: f32 = self.outputs.iter().map(|z| (z - largest).exp()).sum();
        let mut gap = f64::from(largest + sum.ln());
        for (class, (z, dual)) in self.outputs.iter().zip(dual).enumerate() {
            let p = one(class) - dual;
            self.aims[class] = z + kappa * p;
            let entropy = if p > 0.0 { p * p.ln() } else { 0.0 };
            gap += f64::from(entropy - p * z);
        }
        settle(&self.aims, kappa, &mut self.new);
        for (class, new) in self.new.iter_mut().enumerate() {
            *new = one(class) - *new;
        }
        gap.max(0.0)
    }

    /// The residual of a number.
    fn number(&mut self, target: f32, dual: f32, kappa: f32) -> f64 {
        let residual = target - self.outputs[0];
        self.new[0] = (residual + kappa * dual) / (1.0 + kappa);
        0.5 * f64::from(residual - dual).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> (SparseRows, Vec<usize>) {
        let mut rows = SparseRows::new(40);
        let mut labels = Vec::new();
        for row in 0..120u32 {
            let own = [(row % 3, 0.6f32), (3 + row * 7 % 17, 0.5), (20 + row * 11 % 20, 0.4)];
            rows.push(&own).unwrap();
            labels.push(if row % 10 == 9 { (row as usize + 1) % 3 } else { row as usize % 3 });
        }
        (rows, labels)
    }

    /// `sum_i x_i (target_i - prediction_i)^T - W / strength`, largest entry.
    fn gradient(rows: &SparseRows, map: &LinearMap, residuals: &Array2<f32>, strength: f32) -> f32 {
        let mut sum = LinearMap::zeros(rows.width(), map.outputs());
        for (row, residual) in residuals.axis_iter(Axis(0)).enumerate() {
            let (places, values) = rows.row(row);
            sum.add(places, values, &residual.to_vec());
        }
        let apart = sum.weights - &map.weights / strength;
        apart.iter().fold(0.0, |most: f32, value| most.max(value.abs()))
    }

    #[test]
    fn the_gradient_vanishes_and_a_start_at_the_solution_stays() {
        let (rows, labels) = rows();
        let some: Vec<usize> = (0..rows.rows()).collect();
        let targets = Targets::classes(labels.clone(), 3).unwrap();
        for strength in [0.3, 10.0] {
            let problem = LinearProblem { rows: &rows, some: &some, targets: &targets, strength };
            let mut found = fit_linear(&problem, None).unwrap();
            assert!(found.gap < GAP && found.passes < 20, "{} {}", found.gap, found.passes);
            for _ in 0..40 {
                found = fit_linear(&problem, Some(found.duals)).unwrap();
                assert_eq!(found.passes, 1);
            }
            let mut residuals = Array2::zeros((rows.rows(), 3));
            for row in 0..rows.rows() {
                let (places, values) = rows.row(row);
                let mut z = [0.0; 3];
                found.map.apply(places, values, &mut z);
                let sum: f32 = z.iter().map(|z| z.exp()).sum();
                for class in 0..3 {
                    let one = f32::from(labels[row] == class);
                    residuals[[row, class]] = one - z[class].exp() / sum;
                }
            }
            let left = gradient(&rows, &found.map, &residuals, strength);
            assert!(left < 0.02, "{strength} {left}");
        }
    }

    #[test]
    fn numbers_are_ridge_regression() {
        let (rows, _) = rows();
        let some: Vec<usize> = (0..rows.rows()).collect();
        let numbers: Vec<f32> = some.iter().map(|&row| (row as f32 * 0.37).sin()).collect();
        let targets = Targets::values(numbers.clone()).unwrap();
        let problem = LinearProblem { rows: &rows, some: &some, targets: &targets, strength: 3.0 };
        let mut found = fit_linear(&problem, None).unwrap();
        // Rows share much, so that the last digits take many passes.
        for _ in 0..1000 {
            found = fit_linear(&problem, Some(found.duals)).unwrap();
        }
        let residuals = Array2::from_shape_fn((rows.rows(), 1), |(row, _)| {
            let (places, values) = rows.row(row);
            let mut z = [0.0];
            found.map.apply(places, values, &mut z);
            numbers[row] - z[0]
        });
        let left = gradient(&rows, &found.map, &residuals, 3.0);
        assert!(left < 1e-3, "{left}");
    }

    #[test]
    fn what_does_not_fit_is_refused_and_empty_rows_do_no_harm() {
        let mut rows = SparseRows::new(2);
        assert!(rows.push(&[(2, 1.0)]).is_err());
        assert!(rows.push(&[(0, f32::NAN)]).is_err());
        rows.push(&[]).unwrap();
        rows.push(&[(1, 1.0)]).unwrap();
        let targets = Targets::classes(vec![0, 1], 2).unwrap();
        let problem =
            LinearProblem { rows: &rows, some: &[0, 1], targets: &targets, strength: 1.0 };
        let found = fit_linear(&problem, None).unwrap();
        assert!(found.map.weights.iter().all(|weight| weight.is_finite()));
        assert!(fit_linear(&LinearProblem { strength: 0.0, ..problem }, None).is_err());
        let wrong = Array2::zeros((1, 2));
        assert!(fit_linear(&problem, Some(wrong)).is_err());
    }
}
