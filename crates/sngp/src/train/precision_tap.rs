//! Accumulating the precision while the network trains.

use std::sync::{Arc, Mutex};

use burn::tensor::Tensor;

use crate::posterior::{Accumulation, Precision};
use crate::{Result, host};

/// Collects features of training steps; clones share what they collect, so that the copies of
/// the model a learner makes add to one sum.
#[derive(Clone, Debug)]
pub(crate) struct PrecisionTap {
    precision: Arc<Mutex<Precision>>,
    accumulation: Accumulation,
    last_epoch: usize,
    total_rows: usize,
}

impl PrecisionTap {
    pub fn new(
        precision: Precision,
        accumulation: Accumulation,
        last_epoch: usize,
        total_rows: usize,
    ) -> Self {
        Self { precision: Arc::new(Mutex::new(precision)), accumulation, last_epoch, total_rows }
    }

    /// Takes in the features and logits of a step of the given epoch.
    pub fn collect(&self, epoch: usize, features: Tensor<2>, logits: Tensor<2>) -> Result<()> {
        let wanted = match self.accumulation {
            Accumulation::FinalPass => false,
            Accumulation::FinalEpoch => epoch == self.last_epoch,
            Accumulation::MovingAverage { .. } => true,
        };
        if !wanted {
            return Ok(());
        }
        let (features, logits) = (host::matrix_f32(features), host::matrix(logits));
        let mut precision = self.lock();
        match self.accumulation {
            Accumulation::MovingAverage { momentum } => {
                precision.average(features.view(), logits.view(), momentum, self.total_rows)
            }
            _ => precision.add(features.view(), logits.view()),
        }
    }

    /// What has been collected so far.
    pub fn snapshot(&self) -> Precision {
        self.lock().clone()
    }

    /// Goes on from a saved state.
    pub fn restore(&self, precision: Precision) {
        *self.lock() = precision;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Precision> {
        self.precision.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
