//! Training on burn-train.
//!
//! One network is trained by `fit_network`: seeded shuffles and dropout, checkpoints it can
//! resume from after a kill, early stopping, schedules, clipping and accumulation. Spectral
//! normalization and DUQ's centroids take their turn right after each optimiser step.

mod checkpoint;
mod config;
mod early_stopping;
mod fit;
mod loader;
mod muon;
mod objective;
mod observer;
mod optimizer;
mod precision_tap;
mod renderer;
mod schedule;
mod trainee;

pub use checkpoint::Checkpoints;
pub use config::{EarlyStopping, Optimizer, TrainingConfig};
pub use observer::{EpochSummary, Observer, Silent};
pub use schedule::{Decay, Schedule};

/// The handle that stops a training from outside, e.g. on Ctrl-C.
pub use burn::train::Interrupter;

use crate::{Error, Result};

/// Stops between two pieces of work that do not watch the handle themselves.
///
/// ```
/// use sngp::train::{Interrupter, check_interrupted};
///
/// let handle = Interrupter::new();
/// assert!(check_interrupted(&handle).is_ok());
/// handle.stop(Some("enough"));
/// assert!(check_interrupted(&handle).unwrap_err().to_string().contains("enough"));
/// ```
pub fn check_interrupted(interrupter: &Interrupter) -> Result<()> {
    if !interrupter.should_stop() {
        return Ok(());
    }
    let reason = interrupter.get_message().unwrap_or_else(|| "on request".to_string());
    Err(Error::Interrupted { reason, checkpoint: None })
}

pub(crate) use fit::{FitNetwork, fit_network};
pub(crate) use loader::batches;
