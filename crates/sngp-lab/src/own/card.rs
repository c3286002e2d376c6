//! What a model tells about itself and its data.

use serde::{Deserialize, Serialize};
use sngp::model::AnyModel;
use sngp::{Error, Result};

use super::recipe::Recipe;

/// The file it is saved in, in the model's folder.
pub(super) const CARD: &str = "card.json";

/// What a model was trained on and how its inputs are made. Saved with the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// From raw rows to inputs.
    pub recipe: Recipe,
    /// The column with the labels.
    pub label: String,
    /// What is predicted.
    pub task: Task,
    /// What it was trained on.
    pub training: Training,
    /// How it did on examples held out of the training.
    pub held_out: HeldOut,
}

impl Card {
    /// The card of a model made by [`train`](super::train).
    pub fn of(model: &dyn AnyModel) -> Result<Self> {
        let bytes = model.attachment(CARD).ok_or_else(|| {
            Error::Data(format!("the model has no {CARD}: it was not made by `sngp train`"))
        })?;
        serde_json::from_slice(bytes).map_err(|error| Error::Data(format!("{CARD}: {error}")))
    }
}

/// What is predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// A class.
    Classification {
        /// Below this largest logit an example is far from the data: nineteen of twenty held-out
        /// ones are above.
        least_evidence: f64,
    },
    /// A number.
    Regression {
        /// Mean of the training targets; the model predicts in their standard units.
        mean: f64,
        /// Standard deviation of the training targets.
        scale: f64,
        /// The interval's half width in predicted standard deviations.
        interval: f64,
        /// The share of examples whose value the interval is to hold.
        coverage: f64,
    },
}

/// What a model was trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// The file's name.
    pub file: String,
    /// Rows it learned from.
    pub rows: usize,
    /// How it was fitted, in words.
    pub fit: String,
}

/// How a model did on examples held out of its training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// Rows.
    pub rows: usize,
    /// Metrics by name.
    pub metrics: Vec<(String, f64)>,
    /// Classes with the share of their held-out examples that was recognized, weakest first.
    pub weakest: Vec<(String, f64)>,
}
