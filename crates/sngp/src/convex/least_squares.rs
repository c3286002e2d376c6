//! Regression has a closed form.

use ndarray::{Array1, ArrayView2};

use super::Convergence;
use super::problem::OutputSolution;
use crate::Result;
use crate::likelihood::{Gaussian, Noise};
use crate::posterior::Precision;

/// The noise is known to this relative accuracy, or after so many updates.
const TOLERANCE: f64 = 1e-4;
const UPDATES: usize = 50;
/// Noise below this share of the targets' variance is taken for a rounding error.
const LEAST_NOISE: f64 = 1e-6;

/// `sum_i phi_i y_i`, `sum_i y_i^2` and the number of rows.
pub(super) struct Moment {
    features: Array1<f64>,
    squares: f64,
    rows: f64,
}

impl Moment {
    pub fn new(features: usize) -> Self {
        Self { features: Array1::zeros(features), squares: 0.0, rows: 0.0 }
    }

    pub fn add(&mut self, features: ArrayView2<'_, f64>, targets: &[f64]) {
        self.features += &features.t().dot(&Array1::from(targets.to_vec()));
        self.squares += targets.iter().map(|target| target * target).sum::<f64>();
        self.rows += targets.len() as f64;
    }
}

/// `beta = (G + l2 n I)^-1 sum phi y`, and the noise `n` that is most probable with it
/// (MacKay's update `n = ||y - Phi beta||^2 / (N - gamma)`, where `gamma` counts the directions
/// that the data settles).
pub(super) fn solve(
    gram: Precision,
    moment: &Moment,
    l2: f64,
    gaussian: &Gaussian,
) -> Result<OutputSolution> {
    let variance = moment.squares / moment.rows;
    let mut noise = match gaussian.noise {
        Noise::Given(noise) => noise,
        Noise::Learned => 0.1 * variance.max(f64::MIN_POSITIVE),
    };
    let matrix = gram.matrix(0);
    let (mut updates, mut converged) = (0, matches!(gaussian.noise, Noise::Given(_)));
    let (weights, residual) = loop {
        let ridge = l2 * noise;
        let covariance = gram.finish(ridge)?;
        let weights = covariance.times_vector(&moment.features) / ridge;
        let fitted = weights.dot(&matrix.dot(&weights));
        let residual = (moment.squares - 2.0 * weights.dot(&moment.features) + fitted).max(0.0);
        updates += 1;
        if converged || updates == UPDATES {
            break (weights, residual);
        }
        let settled = matrix.nrows() as f64 - covariance.trace();
        let freedom = (moment.rows - settled).max(1.0);
        let next = (residual / freedom).max(LEAST_NOISE * variance).max(f64::MIN_POSITIVE);
        converged = (next / noise - 1.0).abs() < TOLERANCE;
        noise = next;
    };
    let penalty = l2 * weights.dot(&weights);
    let scale = std::f64::consts::TAU * noise;
    let convergence = Convergence {
        iterations: updates,
        evaluations: updates,
        objective: 0.5 * (scale.ln() + (residual / noise + penalty) / moment.rows),
        converged,
    };
    let log_noise = (gaussian.noise == Noise::Learned).then(|| noise.ln());
    Ok(OutputSolution { weights: weights.to_vec(), log_noise, gram, convergence })
}
