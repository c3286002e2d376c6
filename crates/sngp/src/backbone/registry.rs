//! The backbones that ship with the library.

use std::path::Path;

use burn::tensor::Device;

use super::{Backbone, Bert, Identity, Pooler, ResFfn, ResNet, WideResNet};
use crate::model::{AnyModel, Model};
use crate::{Error, Result};

/// A backbone of the registry.
pub struct BackboneEntry {
    /// Its name.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Loads a model folder with this backbone.
    pub load: fn(&Path, &Device) -> Result<Box<dyn AnyModel>>,
}

/// The backbones, one line each.
pub static BACKBONES: &[BackboneEntry] = &[
    entry::<ResFfn>("residual feed-forward network for vectors, any depth and width"),
    entry::<WideResNet>("wide residual network for images, any depth and width"),
    entry::<ResNet>("residual network of published CIFAR weights, any depth"),
    entry::<Bert>("BERT or MPNet encoder for sentences, from a Hugging Face folder"),
    entry::<Identity>("vectors as they are, for embeddings of another model and tables"),
    entry::<Pooler>("one layer started at the identity, for vectors of an encoder not trained"),
];

const fn entry<B: Backbone>(summary: &'static str) -> BackboneEntry {
    BackboneEntry { name: B::NAME, summary, load: load::<B> }
}

fn load<B: Backbone>(folder: &Path, device: &Device) -> Result<Box<dyn AnyModel>> {
    Ok(Box::new(Model::<B>::load(folder, device)?))
}

/// The entry of a name.
pub fn backbone(name: &str) -> Result<&'static BackboneEntry> {
    BACKBONES.iter().find(|entry| entry.name == name).ok_or_else(|| Error::Unknown {
        kind: "backbone",
        name: name.to_string(),
        known: BACKBONES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
    })
}
