//! What a model tells about itself and its data.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sngp::model::AnyModel;
use sngp::predict::Minimax;
use sngp::{Error, Result};

use crate::aim::Aim;
use crate::input::{Preparation, TEXTS, TextMap};

/// The file it is saved in, in the model's folder.
pub(crate) const CARD: &str = "card.json";

/// What a model was trained on and how its inputs are made. Saved with the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// From raw rows to inputs.
    #[serde(rename = "recipe")]
    pub preparation: Preparation,
    /// The column with the labels.
    pub label: String,
    /// What is predicted.
    pub task: Task,
    /// What it was trained on.
    pub training: Training,
    /// How it did on examples held out of the training.
    pub held_out: HeldOut,
    /// What its decision was chosen for, to choose it anew when the model changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aim: Option<Aim>,
    /// Whether its decision was dropped because the model has changed since: it answers nothing
    /// until it has a new one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncalibrated: bool,
    /// The score's values on held-out rows, least first, at evenly spread ranks: what later traffic
    /// is compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reference: Vec<f64>,
    /// How probabilities of rows unlike the held-out ones go to uniform, where they are to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimax: Option<Minimax>,
    /// Whether its p-values are among rows that chose nothing else: those of a calibration, not
    /// those held out of the training.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh_p_values: bool,
}

impl Card {
    /// The card saved with a model, where there is one.
    pub fn of(model: &dyn AnyModel) -> Result<Option<Self>> {
        let Some(bytes) = model.attachment(CARD) else { return Ok(None) };
        let mut card: Self = serde_json::from_slice(bytes)
            .map_err(|error| Error::Data(format!("{CARD}: {error}")))?;
        if let Preparation::Texts(texts) = &mut card.preparation {
            let bytes = model
                .attachment(TEXTS)
                .ok_or_else(|| Error::Data(format!("{CARD} needs {TEXTS}, which is not there")))?;
            texts.map = Some(Arc::new(TextMap::from_bytes(bytes)?));
        }
        card.check().map(|()| Some(card))
    }

    /// Refuses numbers that no card is written with: what is predicted would not be what it seems.
    fn check(&self) -> Result<()> {
        if let Task::Regression { mean, scale, interval, coverage, spread } = self.task {
            let sound = mean.is_finite()
                && spread.is_finite()
                && spread > 0.0
                && scale.is_finite()
                && scale > 0.0
                && interval >= 0.0
                && (0.0..=1.0).contains(&coverage);
            if !sound {
                return Err(Error::Data(format!("{CARD}: its units are not sound")));
            }
        }
        if let Some(minimax) = self.minimax {
            minimax.check().map_err(|error| Error::Data(format!("{CARD}: {error}")))?;
        }
        self.preparation.check().map_err(|reason| Error::Data(format!("{CARD}: {reason}")))
    }
}

fn as_predicted() -> f64 {
    1.0
}

fn is_as_predicted(spread: &f64) -> bool {
    *spread == 1.0
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
        /// The share of examples whose value the interval is to hold; 0 where too few rows were
        /// held out to promise any.
        coverage: f64,
        /// Factor on the predicted variances that makes them as large as held-out errors are.
        #[serde(default = "as_predicted", skip_serializing_if = "is_as_predicted")]
        spread: f64,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// Rows.
    pub rows: usize,
    /// Metrics by name.
    pub metrics: Vec<(String, f64)>,
    /// Classes with the share of their held-out examples that was recognized, weakest first.
    pub weakest: Vec<(String, f64)>,
}
