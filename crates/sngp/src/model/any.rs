//! Models whose backbone is known only when they are loaded.

use std::path::Path;

use burn::tensor::Device;
use ndarray::{Array2, ArrayView2, Axis};
use serde_json::Value;

use super::config::ModelConfig;
use super::decision::Decision;
use super::fitted::Model;
use super::inspection::Inspection;
use super::parameters::Parameters;
use crate::backbone::{Backbone, InputShape, Shipped};
use crate::data::Inputs;
use crate::nn::matrix;
use crate::posterior::Precision;
use crate::predict::{Integration, Prediction};
use crate::text::Sentences;
use crate::train::batches;
use crate::{Error, Pass, Result, host};

/// Rows of numbers that go through a network together.
const BATCH: usize = 2048;

/// What a model takes whose backbone is not known.
#[derive(Clone, Copy, Debug)]
pub enum ModelInputs<'a> {
    /// Vectors, or images channel by channel.
    Vectors(ArrayView2<'a, f32>),
    /// Tokenized sentences.
    Sentences(&'a Sentences),
}

/// A fitted model with any backbone: one that ships with the library, or one of the caller's own.
pub trait AnyModel: Send + Sync {
    /// What it takes.
    fn input(&self) -> InputShape;

    /// Predicts, in batches.
    fn predict_any(&self, inputs: ModelInputs<'_>) -> Result<Prediction>;

    /// Numbers of a hidden vector.
    fn hidden_width(&self) -> usize;

    /// The hidden vectors by its first network, in batches.
    fn hidden(&self, inputs: ModelInputs<'_>) -> Result<Array2<f32>>;

    /// Accumulates the precision, one for each network with a Gaussian process.
    fn accumulate_any(&self, inputs: ModelInputs<'_>) -> Result<Vec<Precision>>;

    /// The accumulated precision of each network with a Gaussian process.
    fn precisions(&self) -> Vec<Precision>;

    /// Replaces the precisions, e.g. by merged ones of the same feature maps.
    fn set_precisions(&mut self, precisions: Vec<Precision>) -> Result<()>;

    /// The configuration it was fitted with.
    fn config(&self) -> &ModelConfig;

    /// The name and the configuration of its backbone, as they are saved.
    fn saved_backbone(&self) -> Result<(&'static str, Value)>;

    /// Everything it computes with, by name; nothing for the exact Gaussian process.
    fn parameters(&self) -> Parameters;

    /// The names of the classes; empty for regression.
    fn labels(&self) -> &[String];

    /// Examines the model.
    fn inspect(&self) -> Result<Inspection>;

    /// When it abstains, if it has been told.
    fn decision(&self) -> Option<&Decision>;

    /// Tells it when to abstain, or that it never does.
    fn set_decision(&mut self, decision: Option<Decision>);

    /// Takes its expectation over the posterior differently.
    fn set_integration(&mut self, integration: Integration) -> Result<()>;

    /// A file saved with the model.
    fn attachment(&self, name: &str) -> Option<&[u8]>;

    /// Saves a file with the model.
    fn attach(&mut self, name: &str, bytes: Vec<u8>) -> Result<()>;

    /// Saves it no more.
    fn detach(&mut self, name: &str);

    /// Saves the model as a folder.
    fn save(&self, folder: &Path) -> Result<()>;
}

impl<B: Backbone> AnyModel for Model<B> {
    fn input(&self) -> InputShape {
        B::input(&self.backbone)
    }

    fn predict_any(&self, inputs: ModelInputs<'_>) -> Result<Prediction> {
        match inputs {
            ModelInputs::Vectors(rows) => {
                let parts = rows.axis_chunks_iter(Axis(0), BATCH);
                let predict = |rows| self.predict_batch(self.batch_of_rows(rows)?);
                Prediction::concatenate(parts.map(predict).collect::<Result<_>>()?)
            }
            ModelInputs::Sentences(sentences) => self.predict(&self.tokens(sentences)?),
        }
    }

    fn hidden_width(&self) -> usize {
        B::width(&self.backbone)
    }

    fn hidden(&self, inputs: ModelInputs<'_>) -> Result<Array2<f32>> {
        let network = self
            .networks()
            .next()
            .ok_or_else(|| Error::Unsupported("the exact GP has no hidden vectors".to_string()))?;
        let forward = |batch: B::Batch| -> Result<Array2<f32>> {
            B::check(&self.backbone, &batch)?;
            Ok(host::matrix_f32(network.backbone.forward(batch, &mut Pass::evaluate())))
        };
        match inputs {
            ModelInputs::Vectors(rows) => {
                let parts = rows.axis_chunks_iter(Axis(0), BATCH);
                let parts = parts.map(|rows| forward(self.batch_of_rows(rows)?));
                stacked(&parts.collect::<Result<Vec<_>>>()?)
            }
            ModelInputs::Sentences(sentences) => {
                let inputs = self.tokens(sentences)?;
                let mut all = Array2::zeros((inputs.rows(), B::width(&self.backbone)));
                for rows in batches(&inputs, super::estimator::EVALUATION_BATCH) {
                    let hidden = forward(inputs.batch(&rows, &self.device))?;
                    for (row, vector) in rows.iter().zip(hidden.axis_iter(Axis(0))) {
                        all.row_mut(*row).assign(&vector);
                    }
                }
                Ok(all)
            }
        }
    }

    fn accumulate_any(&self, inputs: ModelInputs<'_>) -> Result<Vec<Precision>> {
        match inputs {
            ModelInputs::Vectors(rows) => {
                let mut sums: Vec<Precision> = Vec::new();
                for rows in rows.axis_chunks_iter(Axis(0), BATCH) {
                    let batch = self.batch_of_rows(rows)?;
                    B::check(&self.backbone, &batch)?;
                    let parts = self.accumulate_batch(&batch)?;
                    match sums.is_empty() {
                        true => sums = parts,
                        false => {
                            for (sum, part) in sums.iter_mut().zip(&parts) {
                                sum.merge(part)?;
                            }
                        }
                    }
                }
                Ok(sums)
            }
            ModelInputs::Sentences(sentences) => self.accumulate(&self.tokens(sentences)?),
        }
    }

    fn precisions(&self) -> Vec<Precision> {
        Model::precisions(self).cloned().collect()
    }

    fn set_precisions(&mut self, precisions: Vec<Precision>) -> Result<()> {
        *self = self.clone().with_precisions(precisions)?;
        Ok(())
    }

    fn config(&self) -> &ModelConfig {
        Model::config(self)
    }

    fn saved_backbone(&self) -> Result<(&'static str, Value)> {
        let config = serde_json::to_value(&self.backbone);
        let config = config.map_err(|error| Error::Data(error.to_string()))?;
        Ok((B::name(&self.backbone), config))
    }

    fn parameters(&self) -> Parameters {
        Parameters(self.member_tensors())
    }

    fn labels(&self) -> &[String] {
        Model::labels(self)
    }

    fn inspect(&self) -> Result<Inspection> {
        Model::inspect(self)
    }

    fn decision(&self) -> Option<&Decision> {
        Model::decision(self)
    }

    fn set_decision(&mut self, decision: Option<Decision>) {
        self.decision = decision;
    }

    fn set_integration(&mut self, integration: Integration) -> Result<()> {
        integration.check()?;
        self.config.integration = integration;
        Ok(())
    }

    fn attachment(&self, name: &str) -> Option<&[u8]> {
        Model::attachment(self, name)
    }

    fn attach(&mut self, name: &str, bytes: Vec<u8>) -> Result<()> {
        *self = self.clone().with_attachment(name, bytes)?;
        Ok(())
    }

    fn detach(&mut self, name: &str) {
        self.attachments.remove(name);
    }

    fn save(&self, folder: &Path) -> Result<()> {
        Model::save(self, folder)
    }
}

impl<B: Backbone> Model<B> {
    fn batch_of_rows(&self, rows: ArrayView2<'_, f32>) -> Result<B::Batch> {
        let columns = rows.ncols();
        B::batch_of_rows(&self.backbone, matrix(rows, &self.device)).ok_or_else(|| {
            let backbone = B::name(&self.backbone);
            Error::Unsupported(format!("backbone `{backbone}` takes no rows of {columns} numbers"))
        })
    }

    fn tokens<'a>(&'a self, sentences: &'a Sentences) -> Result<Tokens<'a, B>> {
        let first = sentences.batch(&[0], &self.device);
        if B::batch_of_tokens(&self.backbone, first).is_none() {
            let backbone = B::name(&self.backbone);
            return Err(Error::Unsupported(format!("backbone `{backbone}` takes no sentences")));
        }
        Ok(Tokens { sentences, config: &self.backbone })
    }
}

/// Sentences as the batches of a backbone that is known to take such.
struct Tokens<'a, B: Backbone> {
    sentences: &'a Sentences,
    config: &'a B::Config,
}

impl<B: Backbone> Inputs<B::Batch> for Tokens<'_, B> {
    fn rows(&self) -> usize {
        self.sentences.rows()
    }

    fn batch(&self, rows: &[usize], device: &Device) -> B::Batch {
        B::batch_of_tokens(self.config, self.sentences.batch(rows, device))
            .expect("a backbone that took the first sentence takes the others")
    }

    fn length(&self, row: usize) -> usize {
        self.sentences.length(row)
    }
}

fn stacked(parts: &[Array2<f32>]) -> Result<Array2<f32>> {
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    ndarray::concatenate(Axis(0), &views).map_err(|error| Error::Data(error.to_string()))
}

/// What a pipeline attaches to a model: how raw rows become its inputs, and its outputs answers.
const CARD: &str = "card.json";

/// Loads a model folder with any of the backbones that ship with the library. A model of a pipeline
/// takes prepared rows and predicts in units of its own, which raw rows do not have: it is refused,
/// and loaded as a pipeline, or with [`load`](super::load) as what it is.
pub fn load_any(folder: impl AsRef<Path>, device: &Device) -> Result<Box<dyn AnyModel>> {
    let folder = folder.as_ref();
    let model = Model::<Shipped>::load(folder, device)?;
    if model.attachment(CARD).is_some() {
        let reason =
            format!("it has a {CARD}: its inputs are prepared rows; load it as a pipeline");
        return Err(Error::corrupt(folder, reason));
    }
    Ok(Box::new(model))
}
