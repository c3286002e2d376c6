//! The output layer alone, solved to convergence.
//!
//! With the hidden mapping as it is, the most probable output weights minimise
//! `sum_i loss_i + l2 ||beta||^2 / 2`, a convex problem with one solution: no learning rate, no
//! epochs. [`Estimator::fit_output`](crate::model::Estimator::fit_output) solves it.
//! Linear maps of sparse rows have a [solver of their own](sparse).

mod lbfgs;
mod least_squares;
mod objective;
mod problem;
pub mod sparse;

pub(crate) use lbfgs::{Function, Stop, minimize};
pub(crate) use problem::{OutputProblem, OutputSolution};

use serde::Serialize;

/// How a solution was reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Convergence {
    /// Iterations over the data.
    pub iterations: usize,
    /// Times the loss and its gradient were computed.
    pub evaluations: usize,
    /// The objective a row at the end: the mean loss with the prior's share.
    pub objective: f64,
    /// Whether it stopped because nothing was left to gain.
    pub converged: bool,
}
