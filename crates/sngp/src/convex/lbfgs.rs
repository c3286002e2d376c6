//! L-BFGS with a preconditioner.

use std::collections::VecDeque;

use crate::Result;

/// Pairs of steps and gradient changes that are remembered.
const MEMORY: usize = 8;
/// The share of the promised decrease that a step has to bring.
const SUFFICIENT: f64 = 1e-4;
const MAX_HALVINGS: usize = 30;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// The relative decrease of one iteration below which the minimum is reached.
    pub tolerance: f64,
    pub iterations: usize,
}

/// Where the iteration ended.
#[derive(Clone, Debug)]
pub(crate) struct Minimum {
    pub point: Vec<f64>,
    pub value: f64,
    pub iterations: usize,
    pub converged: bool,
}

/// A smooth convex function.
pub(crate) trait Function {
    /// Its value and gradient.
    fn evaluate(&mut self, point: &[f64]) -> Result<(f64, Vec<f64>)>;

    /// A gradient times an approximate inverse of the Hessian.
    fn precondition(&self, gradient: &[f64]) -> Vec<f64>;

    /// Told about every iteration.
    fn progress(&mut self, _iteration: usize, _value: f64) {}
}

/// Minimises a function from a starting point.
pub(crate) fn minimize(
    function: &mut impl Function,
    start: Vec<f64>,
    stop: Stop,
) -> Result<Minimum> {
    let (value, mut gradient) = function.evaluate(&start)?;
    let mut minimum = Minimum { point: start, value, iterations: 0, converged: false };
    let mut history = History::default();
    while minimum.iterations < stop.iterations {
        let direction = history.direction(&gradient, |g| function.precondition(g));
        let slope = dot(&gradient, &direction);
        let Some(step) = descend(function, &minimum, &direction, slope)? else {
            // No step brings less: what is left is rounding.
            minimum.converged = true;
            break;
        };
        minimum.iterations += 1;
        let decrease = minimum.value - step.value;
        let change = difference(&step.gradient, &gradient);
        history.push(difference(&step.point, &minimum.point), change);
        (minimum.point, minimum.value, gradient) = (step.point, step.value, step.gradient);
        function.progress(minimum.iterations, minimum.value);
        if decrease <= stop.tolerance * minimum.value.abs() {
            minimum.converged = true;
            break;
        }
    }
    Ok(minimum)
}

struct Step {
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// The first of the steps 1, 1/2, 1/4 .. against `direction` that brings enough.
fn descend(
    function: &mut impl Function,
    from: &Minimum,
    direction: &[f64],
    slope: f64,
) -> Result<Option<Step>> {
    let mut length = 1.0;
    for _ in 0..MAX_HALVINGS {
        let point: Vec<f64> =
            from.point.iter().zip(direction).map(|(x, d)| x - length * d).collect();
        let (value, gradient) = function.evaluate(&point)?;
        if value <= from.value - SUFFICIENT * length * slope {
            return Ok(Some(Step { point, value, gradient }));
        }
        length *= 0.5;
    }
    Ok(None)
}

#[derive(Default)]
struct History {
    pairs: VecDeque<Pair>,
}

struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    inverse_curvature: f64,
}

impl History {
    fn push(&mut self, step: Vec<f64>, change: Vec<f64>) {
        let curvature = dot(&step, &change);
        // Rounding near the minimum can hide the curvature; such a pair says nothing.
        if curvature <= f64::EPSILON * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
            return;
        }
        if self.pairs.len() == MEMORY {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair { step, change, inverse_curvature: 1.0 / curvature });
    }

    /// The two loops of Nocedal, with the preconditioner as the matrix they start from.
    fn direction(&self, gradient: &[f64], precondition: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
        let mut direction = gradient.to_vec();
        let mut shares = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let share = pair.inverse_curvature * dot(&pair.step, &direction);
            add_scaled(&mut direction, -share, &pair.change);
            shares.push(share);
        }
        let mut direction = precondition(&direction);
        if let Some(last) = self.pairs.back() {
            // The preconditioner's own scale, corrected by the curvature of the last step.
            let expected = dot(&last.change, &precondition(&last.change));
            let scale = 1.0 / (last.inverse_curvature * expected);
            direction.iter_mut().for_each(|d| *d *= scale);
        }
        for (pair, share) in self.pairs.iter().zip(shares.iter().rev()) {
            let correction = share - pair.inverse_curvature * dot(&pair.change, &direction);
            add_scaled(&mut direction, correction, &pair.step);
        }
        direction
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn add_scaled(target: &mut [f64], scale: f64, values: &[f64]) {
    for (t, v) in target.iter_mut().zip(values) {
        *t += scale * v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sum_i a_i (x_i - i)^2 / 2 + sum_i ln cosh x_i`, badly conditioned.
    struct Valley {
        preconditioned: bool,
        evaluations: usize,
    }

    fn stiffness(index: usize) -> f64 {
        10f64.powi(index as i32 % 6)
    }

    impl Function for Valley {
        fn evaluate(&mut self, point: &[f64]) -> Result<(f64, Vec<f64>)> {
            self.evaluations += 1;
            let terms = point.iter().enumerate().map(|(i, x)| {
                let (a, away) = (stiffness(i), x - i as f64);
                (0.5 * a * away * away + x.cosh().ln(), a * away + x.tanh())
            });
            let (values, gradient): (Vec<f64>, Vec<f64>) = terms.unzip();
            Ok((values.iter().sum(), gradient))
        }

        fn precondition(&self, gradient: &[f64]) -> Vec<f64> {
            let scale = |i| if self.preconditioned { 1.0 / stiffness(i) } else { 1.0 };
            gradient.iter().enumerate().map(|(i, g)| g * scale(i)).collect()
        }
    }

    #[test]
    fn reaches_the_minimum_and_sooner_with_a_preconditioner() {
        let run = |preconditioned| {
            let mut valley = Valley { preconditioned, evaluations: 0 };
            let stop = Stop { tolerance: 1e-12, iterations: 100_000 };
            let minimum = minimize(&mut valley, vec![5.0; 12], stop).unwrap();
            assert!(minimum.converged);
            let evaluations = valley.evaluations;
            // It started at up to 1e6.
            let (_, gradient) = valley.evaluate(&minimum.point).unwrap();
            assert!(gradient.iter().all(|g| g.abs() < 0.1), "{gradient:?}");
            evaluations
        };
        assert!(2 * run(true) < run(false), "{} {}", run(true), run(false));
    }

    #[test]
    fn the_start_may_be_the_minimum() {
        let mut valley = Valley { preconditioned: true, evaluations: 0 };
        let stop = Stop { tolerance: 1e-12, iterations: 50 };
        let first = minimize(&mut valley, vec![0.0; 3], stop).unwrap();
        let again = minimize(&mut valley, first.point.clone(), stop).unwrap();
        assert!(again.converged && again.iterations <= 2, "{again:?}");
    }
}
