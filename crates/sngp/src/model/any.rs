//! Models whose backbone is known only when they are loaded.

use std::path::Path;

use burn::tensor::Device;

use super::fitted::Model;
use super::inspection::Inspection;
use crate::Result;
use crate::backbone::{Backbone, backbone};

/// A model with any backbone of the registry.
pub trait AnyModel: Send {
    /// Examines the model.
    fn inspect(&self) -> Result<Inspection>;
}

impl<B: Backbone> AnyModel for Model<B> {
    fn inspect(&self) -> Result<Inspection> {
        Model::inspect(self)
    }
}

/// Loads a model folder whatever its backbone, as long as the registry knows it.
pub fn load_any(folder: impl AsRef<Path>, device: &Device) -> Result<Box<dyn AnyModel>> {
    let folder = folder.as_ref();
    let entry = backbone(&super::directory::backbone_name(folder)?)?;
    (entry.load)(folder, device)
}
