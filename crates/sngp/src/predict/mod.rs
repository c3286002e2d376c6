//! From mean and variance of the logits to a predictive distribution.

mod integration;
mod minimax;
mod prediction;
mod quadrature;

pub use integration::Integration;
pub use minimax::minimax;
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
pub(crate) fn softmax_row(logits: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let most = logits.clone().fold(f64::NEG_INFINITY, f64::max);
    let exps: Vec<f64> = logits.map(|logit| (logit - most).exp()).collect();
    let sum: f64 = exps.iter().sum();
    exps.into_iter().map(|e| e / sum).collect()
}

/// `ln sum_k exp(logit_k)`, shifted by its maximum.
pub(crate) fn log_sum_exp(logits: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logits.clone().fold(f64::NEG_INFINITY, f64::max);
    most + logits.map(|logit| (logit - most).exp()).sum::<f64>().ln()
}
