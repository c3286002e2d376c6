//! From a configuration to a fitted model and back from disk.
//!
//! [`Estimator`] (unfitted) `fit`s to a [`Model`] (fitted), which predicts, explains itself and
//! is saved as a folder: `config.json`, `model.safetensors`, `labels.json`, what was attached to it
//! (a tokenizer), and `manifest.json`.

mod any;
mod compose;
mod config;
mod decision;
mod directory;
mod estimator;
mod fitted;
mod given_output;
mod inspection;
mod manifest;
mod mean_risk;
mod output;
mod parameters;
mod plausible;
mod risk;
mod shipped;
mod sums;
pub(crate) mod tensors;

pub use any::{AnyModel, ModelInputs, load_any};
pub use config::ModelConfig;
pub use decision::{Condition, Decision, percent};
pub use directory::{backbone_name, check_replaceable};
pub use estimator::{Estimator, FitOptions};
pub use fitted::Model;
pub use inspection::{Inspection, MemberInspection};
pub use output::PathStep;
pub use parameters::Parameters;
pub use risk::Outcome;
pub use shipped::{ShippedModel, fit, fit_output, given_output, load, output_path};
pub use sums::{LossSum, OutputPlan};
