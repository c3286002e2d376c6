//! From mean and variance of the logits to a predictive distribution.

mod calibration;
mod integration;
mod minimax;
mod prediction;
mod quadrature;

pub use calibration::Calibration;
pub use integration::Integration;
pub use minimax::{Minimax, minimax};
pub use prediction::{Prediction, Predictive};
pub(crate) use quadrature::expectation;

/// The logistic function, accurate on both tails.
pub(crate) fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// The softmax of one row, shifted by its maximum.
pub(crate) fn softmax_row(logits: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut row: Vec<f64> = logits.collect();
    softmax_in_place(&mut row);
    row
}

/// The same where the logits are.
pub(crate) fn softmax_in_place(row: &mut [f64]) {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|logit| *logit = (*logit - most).exp());
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|exp| *exp /= sum);
}

/// `ln sum_k exp(logit_k)`, shifted by its maximum.
pub(crate) fn log_sum_exp(logits: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logits.clone().fold(f64::NEG_INFINITY, f64::max);
    most + logits.map(|logit| (logit - most).exp()).sum::<f64>().ln()
}
