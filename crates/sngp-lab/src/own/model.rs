//! A fitted model that takes raw rows.

use std::path::Path;

use burn::tensor::Device;
use ndarray::{Array2, ArrayView2};
use sngp::backbone::{Backbone, Bert};
use sngp::files::to_json;
use sngp::model::{AnyModel, Decision, backbone_name, load_any};
use sngp::posterior::Precision;
use sngp::predict::{Integration, Prediction};
use sngp::text::TextModel;
use sngp::{Error, Result};

use super::card::{CARD, Card};
use super::recipe::Prepared;

/// Rows of vectors that go through the network together.
const BATCH: usize = 2048;

/// A model with everything it needs to take raw rows.
pub struct OwnModel {
    /// What it says about itself and its inputs.
    pub card: Card,
    network: Fitted,
}

/// The fitted part.
pub(super) enum Fitted {
    /// Takes vectors.
    Rows(Box<dyn AnyModel>),
    /// Takes sentences.
    Text(Box<TextModel>),
}

impl OwnModel {
    pub(super) fn new(card: Card, network: Fitted) -> Self {
        Self { card, network }
    }

    /// Whether a folder holds a model of this kind: one that was trained on somebody's own data.
    pub fn is_one(folder: impl AsRef<Path>) -> bool {
        folder.as_ref().join(CARD).is_file()
    }

    /// Loads and verifies a model folder.
    pub fn load(folder: impl AsRef<Path>, device: &Device) -> Result<Self> {
        let folder = folder.as_ref();
        let network = match backbone_name(folder)? == Bert::NAME {
            true => Fitted::Text(Box::new(TextModel::load(folder, device)?)),
            false => Fitted::Rows(load_any(folder, device)?),
        };
        let card =
            Card::of(network.any()).map_err(|error| Error::corrupt(folder, error.to_string()))?;
        Ok(Self { card, network })
    }

    /// Saves the model as a folder, whole or not at all.
    pub fn save(&mut self, folder: impl AsRef<Path>) -> Result<()> {
        let card = to_json(&self.card)?;
        self.network.change(|model| model.attach(CARD, card))?;
        self.any().save(folder.as_ref())
    }

    /// The fitted network.
    pub fn any(&self) -> &dyn AnyModel {
        self.network.any()
    }

    /// Predicts prepared rows.
    pub fn predict(&self, inputs: &Prepared) -> Result<Prediction> {
        match (&self.network, inputs) {
            (Fitted::Rows(model), Prepared::Vectors(vectors)) => predict(&**model, vectors.view()),
            (Fitted::Text(model), Prepared::Texts(texts)) => model.predict(texts),
            _ => Err(other_kind()),
        }
    }

    /// The hidden vectors of prepared rows, where the model takes vectors.
    pub fn hidden(&self, inputs: &Prepared) -> Result<Array2<f32>> {
        match (&self.network, inputs) {
            (Fitted::Rows(model), Prepared::Vectors(vectors)) => model.hidden_rows(vectors.view()),
            (Fitted::Text(_), _) => Err(Error::Unsupported(
                "detectors on hidden vectors are for models that take vectors".to_string(),
            )),
            _ => Err(other_kind()),
        }
    }

    /// Accumulates the precision of prepared rows.
    pub fn accumulate(&self, inputs: &Prepared) -> Result<Vec<Precision>> {
        let parts = match (&self.network, inputs) {
            (Fitted::Rows(model), Prepared::Vectors(vectors)) => {
                model.accumulate_rows(vectors.view())
            }
            (Fitted::Text(model), Prepared::Texts(texts)) => {
                model.model().accumulate(&model.sentences(texts)?)
            }
            _ => Err(other_kind()),
        }?;
        match parts.is_empty() {
            true => Err(Error::Unsupported(format!(
                "{} has no posterior: only methods with a Gaussian process do",
                self.any().config().method
            ))),
            false => Ok(parts),
        }
    }

    /// Replaces the posterior's precisions.
    pub fn set_precisions(&mut self, precisions: Vec<Precision>) -> Result<()> {
        self.network.change(|model| model.set_precisions(precisions))
    }

    /// Tells it when to abstain.
    pub fn set_decision(&mut self, decision: Decision) -> Result<()> {
        self.network.change(|model| {
            model.set_decision(decision);
            Ok(())
        })
    }

    /// Changes how the variance counts in the probabilities.
    pub fn set_integration(&mut self, integration: Integration) -> Result<()> {
        self.network.change(|model| model.set_integration(integration))
    }
}

impl Fitted {
    fn any(&self) -> &dyn AnyModel {
        match self {
            Self::Rows(model) => &**model,
            Self::Text(model) => model.model(),
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut dyn AnyModel) -> Result<()>) -> Result<()> {
        match self {
            Self::Rows(model) => change(&mut **model),
            Self::Text(model) => {
                let changed = (**model).clone().change(|mut inner| {
                    change(&mut inner)?;
                    Ok(inner)
                })?;
                **model = changed;
                Ok(())
            }
        }
    }
}

/// Predicts in batches: the features of all rows at once would not fit everywhere.
fn predict(model: &dyn AnyModel, vectors: ArrayView2<'_, f32>) -> Result<Prediction> {
    let parts = vectors.axis_chunks_iter(ndarray::Axis(0), BATCH);
    Prediction::concatenate(parts.map(|rows| model.predict_rows(rows)).collect::<Result<_>>()?)
}

fn other_kind() -> Error {
    Error::Unsupported("the model takes another kind of input".to_string())
}
