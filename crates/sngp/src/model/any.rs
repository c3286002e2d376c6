//! Models whose backbone is known only when they are loaded.

use std::path::Path;

use burn::tensor::Device;

use ndarray::{Array2, ArrayView2};

use super::config::ModelConfig;
use super::decision::Decision;
use super::fitted::Model;
use super::inspection::Inspection;
use crate::backbone::{Backbone, backbone};
use crate::nn::matrix;
use crate::posterior::Precision;
use crate::predict::{Integration, Prediction};
use crate::{Error, Pass, Result, host};

/// A model with any backbone of the registry.
pub trait AnyModel: Send + Sync {
    /// Examines the model.
    fn inspect(&self) -> Result<Inspection>;

    /// Predicts rows of numbers, for backbones that take such.
    fn predict_rows(&self, rows: ArrayView2<'_, f32>) -> Result<Prediction>;

    /// The configuration it was fitted with.
    fn config(&self) -> &ModelConfig;

    /// The names of the classes; empty for regression.
    fn labels(&self) -> &[String];

    /// When it abstains, if it has been told.
    fn decision(&self) -> Option<&Decision>;

    /// Tells it when to abstain.
    fn set_decision(&mut self, decision: Decision);

    /// Takes its expectation over the posterior differently.
    fn set_integration(&mut self, integration: Integration) -> Result<()>;

    /// The hidden vectors of rows of numbers, by its first network.
    fn hidden_rows(&self, rows: ArrayView2<'_, f32>) -> Result<Array2<f32>>;

    /// Accumulates the precision of rows of numbers, one for each network with a Gaussian process.
    fn accumulate_rows(&self, rows: ArrayView2<'_, f32>) -> Result<Vec<Precision>>;

    /// The accumulated precision of each network with a Gaussian process.
    fn precisions(&self) -> Vec<Precision>;

    /// Replaces the precisions, e.g. by merged ones of the same feature maps.
    fn set_precisions(&mut self, precisions: Vec<Precision>) -> Result<()>;

    /// A file saved with the model.
    fn attachment(&self, name: &str) -> Option<&[u8]>;

    /// Saves a file with the model.
    fn attach(&mut self, name: &str, bytes: Vec<u8>) -> Result<()>;

    /// Saves the model as a folder.
    fn save(&self, folder: &Path) -> Result<()>;
}

impl<B: Backbone> AnyModel for Model<B> {
    fn inspect(&self) -> Result<Inspection> {
        Model::inspect(self)
    }

    fn predict_rows(&self, rows: ArrayView2<'_, f32>) -> Result<Prediction> {
        self.predict_batch(self.batch_of_rows(rows)?)
    }

    fn config(&self) -> &ModelConfig {
        Model::config(self)
    }

    fn labels(&self) -> &[String] {
        Model::labels(self)
    }

    fn decision(&self) -> Option<&Decision> {
        Model::decision(self)
    }

    fn set_decision(&mut self, decision: Decision) {
        self.decision = Some(decision);
    }

    fn set_integration(&mut self, integration: Integration) -> Result<()> {
        integration.check()?;
        self.config.integration = integration;
        Ok(())
    }

    fn hidden_rows(&self, rows: ArrayView2<'_, f32>) -> Result<Array2<f32>> {
        let batch = self.batch_of_rows(rows)?;
        B::check(&self.backbone, &batch)?;
        let network = self
            .networks()
            .next()
            .ok_or_else(|| Error::Unsupported("the exact GP has no hidden vectors".to_string()))?;
        Ok(host::matrix_f32(network.backbone.forward(batch, &mut Pass::evaluate())))
    }

    fn accumulate_rows(&self, rows: ArrayView2<'_, f32>) -> Result<Vec<Precision>> {
        let batch = self.batch_of_rows(rows)?;
        B::check(&self.backbone, &batch)?;
        self.accumulate_batch(&batch)
    }

    fn precisions(&self) -> Vec<Precision> {
        Model::precisions(self).cloned().collect()
    }

    fn set_precisions(&mut self, precisions: Vec<Precision>) -> Result<()> {
        *self = self.clone().with_precisions(precisions)?;
        Ok(())
    }

    fn attachment(&self, name: &str) -> Option<&[u8]> {
        Model::attachment(self, name)
    }

    fn attach(&mut self, name: &str, bytes: Vec<u8>) -> Result<()> {
        *self = self.clone().with_attachment(name, bytes)?;
        Ok(())
    }

    fn save(&self, folder: &Path) -> Result<()> {
        Model::save(self, folder)
    }
}

impl<B: Backbone> Model<B> {
    fn batch_of_rows(&self, rows: ArrayView2<'_, f32>) -> Result<B::Batch> {
        let rows = matrix(rows, &self.device);
        let columns = rows.dims()[1];
        B::batch_of_rows(&self.backbone, rows).ok_or_else(|| {
            let backbone = B::NAME;
            Error::Unsupported(format!("backbone `{backbone}` takes no rows of {columns} numbers"))
        })
    }
}

/// Loads a model folder whatever its backbone, as long as the registry knows it.
pub fn load_any(folder: impl AsRef<Path>, device: &Device) -> Result<Box<dyn AnyModel>> {
    let folder = folder.as_ref();
    let entry = backbone(&super::directory::backbone_name(folder)?)?;
    (entry.load)(folder, device)
}
