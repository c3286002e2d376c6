//! When the precision is accumulated, and what is added to it at the end.

use serde::{Deserialize, Serialize};

use super::Curvature;
use crate::{Error, Result};

/// How the precision is accumulated; all three agree on what the ridge means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Accumulation {
    /// After training, one pass over the training data with the network frozen.
    FinalPass,
    /// During the last epoch of training, as in the paper's algorithm.
    FinalEpoch,
    /// `P <- m P + (1 - m) (N / B) sum_batch w phi phi^T` during all of training.
    MovingAverage {
        /// The share `m` of the old value that is kept.
        momentum: f64,
    },
}

/// Options of the Laplace posterior.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PosteriorConfig {
    /// The curvature; the likelihood's own default when absent.
    pub curvature: Option<Curvature>,
    /// When the precision is accumulated.
    pub accumulation: Accumulation,
    /// The ridge `s`.
    pub ridge: f64,
}

impl Default for PosteriorConfig {
    fn default() -> Self {
        Self { curvature: None, accumulation: Accumulation::FinalPass, ridge: 1.0 }
    }
}

impl PosteriorConfig {
    /// Refuses a momentum or a ridge outside its range.
    pub fn check(&self) -> Result<()> {
        if let Accumulation::MovingAverage { momentum } = self.accumulation {
            check_momentum(momentum)?;
        }
        check_ridge(self.ridge)
    }
}

pub(super) fn check_momentum(momentum: f64) -> Result<()> {
    if momentum > 0.0 && momentum < 1.0 {
        return Ok(());
    }
    Err(Error::config("momentum", momentum, "it must be between 0 and 1"))
}

pub(super) fn check_ridge(ridge: f64) -> Result<()> {
    if ridge.is_finite() && ridge > 0.0 {
        return Ok(());
    }
    Err(Error::config("the ridge", ridge, "it must be positive and finite"))
}
