//! Models whose backbone is known only when they are loaded.

use std::path::Path;

use burn::tensor::Device;

use ndarray::ArrayView2;

use super::config::ModelConfig;
use super::decision::Decision;
use super::fitted::Model;
use super::inspection::Inspection;
use crate::backbone::{Backbone, backbone};
use crate::nn::matrix;
use crate::predict::Prediction;
use crate::{Error, Result};

/// A model with any backbone of the registry.
pub trait AnyModel: Send {
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
}

impl<B: Backbone> AnyModel for Model<B> {
    fn inspect(&self) -> Result<Inspection> {
        Model::inspect(self)
    }

    fn predict_rows(&self, rows: ArrayView2<'_, f32>) -> Result<Prediction> {
        let rows = matrix(rows, &self.device);
        let columns = rows.dims()[1];
        let batch = B::batch_of_rows(&self.backbone, rows).ok_or_else(|| {
            let backbone = B::NAME;
            Error::Unsupported(format!("backbone `{backbone}` takes no rows of {columns} numbers"))
        })?;
        self.predict_batch(batch)
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
}

/// Loads a model folder whatever its backbone, as long as the registry knows it.
pub fn load_any(folder: impl AsRef<Path>, device: &Device) -> Result<Box<dyn AnyModel>> {
    let folder = folder.as_ref();
    let entry = backbone(&super::directory::backbone_name(folder)?)?;
    (entry.load)(folder, device)
}
