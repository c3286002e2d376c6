//! What a training is told.

use serde::{Deserialize, Serialize};

use super::schedule::Schedule;
use crate::posterior::Accumulation;
use crate::{Error, Result};

/// The optimiser and its own options.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Optimizer {
    /// Stochastic gradient descent with Nesterov momentum.
    Sgd {
        /// The momentum.
        momentum: f64,
    },
    /// Adam with decoupled weight decay.
    AdamW,
    /// Steps of one length in every direction for kernels of convolutions (Jordan et al., 2024),
    /// which are kept at a norm of their own; everything else as with `Sgd`. Takes half the epochs
    /// for networks whose convolutions are normalized. A learning rate of 0.24 and a momentum of
    /// 0.6 are what it was published with for images.
    Muon {
        /// The momentum.
        momentum: f64,
    },
}

/// Stops when the validation loss has not improved for a while, and goes back to the best epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyStopping {
    /// Epochs without improvement that are waited for.
    pub patience: usize,
}

/// Options of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingConfig {
    /// Passes over the training data.
    pub epochs: usize,
    /// Examples a step.
    pub batch_size: usize,
    /// The optimiser.
    pub optimizer: Optimizer,
    /// The learning rate at its highest.
    pub learning_rate: f64,
    /// Another one for the output layer.
    pub head_learning_rate: Option<f64>,
    /// Factor on the learning rate for every layer further down, in backbones that name theirs.
    pub layer_decay: Option<f64>,
    /// How the learning rate changes.
    pub schedule: Schedule,
    /// Weight decay; of matrices and kernels only with AdamW, biases and norms are left alone.
    pub weight_decay: f64,
    /// Largest norm of all gradients together.
    pub clip_norm: Option<f64>,
    /// Batches whose gradients are averaged into one step.
    pub accumulate: usize,
    /// When to stop before the last epoch.
    pub early_stopping: Option<EarlyStopping>,
}

impl Default for TrainingConfig {
    fn default() -> Self {
        Self {
            epochs: 100,
            batch_size: 128,
            optimizer: Optimizer::AdamW,
            learning_rate: 1e-3,
            head_learning_rate: None,
            layer_decay: None,
            schedule: Schedule::default(),
            weight_decay: 0.0,
            clip_norm: None,
            accumulate: 1,
            early_stopping: None,
        }
    }
}

impl TrainingConfig {
    /// Refuses options outside their range or at odds with each other.
    pub fn check(&self, accumulation: Accumulation, has_validation: bool) -> Result<()> {
        for (what, value) in [
            ("epochs", self.epochs),
            ("batch_size", self.batch_size),
            ("accumulate", self.accumulate),
        ] {
            if value == 0 {
                return Err(Error::config(what, value, "it must be at least 1"));
            }
        }
        let rates = std::iter::once(self.learning_rate).chain(self.head_learning_rate);
        for rate in rates {
            if !(rate.is_finite() && rate > 0.0) {
                return Err(Error::config("learning_rate", rate, "it must be positive"));
            }
        }
        if !(self.weight_decay.is_finite() && self.weight_decay >= 0.0) {
            let rule = "it must be finite and not negative";
            return Err(Error::config("weight_decay", self.weight_decay, rule));
        }
        if let Some(clip) = self.clip_norm.filter(|clip| !(clip.is_finite() && *clip > 0.0)) {
            return Err(Error::config("clip_norm", clip, "it must be positive"));
        }
        if let Optimizer::Sgd { momentum } | Optimizer::Muon { momentum } = self.optimizer
            && !(0.0..1.0).contains(&momentum)
        {
            return Err(Error::config("momentum", momentum, "it must be in [0, 1)"));
        }
        if let Some(decay) = self.layer_decay.filter(|d| !(*d > 0.0 && *d <= 1.0)) {
            return Err(Error::config("layer_decay", decay, "it must be in (0, 1]"));
        }
        self.schedule.check()?;
        if let Some(stopping) = self.early_stopping {
            if stopping.patience == 0 {
                return Err(Error::config("patience", 0, "it must be at least 1"));
            }
            if !has_validation {
                let message = "early stopping watches the validation loss; give validation data";
                return Err(Error::Data(message.to_string()));
            }
            if accumulation != Accumulation::FinalPass {
                return Err(Error::Unsupported(
                    "early stopping goes back to an earlier network, so a posterior accumulated \
                     while training would not fit it; use final_pass"
                        .to_string(),
                ));
            }
        }
        Ok(())
    }
}
