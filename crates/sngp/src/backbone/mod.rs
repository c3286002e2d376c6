//! Hidden mappings `h(x)`.
//!
//! A backbone is a Burn module with one small trait. Implement [`Backbone`] for a module of your
//! own and it has every method of the library; `examples/own_backbone.rs` shows it in full. The
//! ones that ship with the library are listed in [`BACKBONES`]: one file, one line.

mod batch;
mod bert;
mod identity;
mod images;
mod registry;
mod res_ffn;
mod resnet;
mod wide_resnet;

pub use batch::Batch;
pub use bert::{
    Bert, BertConfig, EncoderConfig, Pooler, PoolerActivation, PoolerConfig, Pooling, TextEncoder,
};
pub use identity::{Identity, IdentityConfig};
pub use images::Normalization;
pub use registry::{BACKBONES, BackboneEntry, backbone};
pub use res_ffn::{ResFfn, ResFfnConfig};
pub use resnet::{ResNet, ResNetConfig};
pub use wide_resnet::{WideResNet, WideResNetConfig};

use burn::module::{Module, ModuleDisplay};
use burn::tensor::{Device, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::spectral::{SpectralLayer, Stage};
use crate::{Pass, Result};

/// A hidden mapping from a batch of inputs to vectors.
pub trait Backbone: Module + ModuleDisplay + Sync + 'static {
    /// The name it is saved and listed by.
    const NAME: &'static str;

    /// Everything needed to build it anew, saved with the model.
    type Config: Clone + std::fmt::Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync;

    /// What one forward pass takes, e.g. `Tensor<2>` for vectors.
    type Batch: Batch;

    /// Builds it with Burn's initializers; the caller has seeded the device.
    fn build(config: &Self::Config, device: &Device) -> Result<Self>;

    /// Maps a batch to hidden vectors `[rows, width]`.
    fn forward(&self, batch: Self::Batch, pass: &mut Pass) -> Tensor<2>;

    /// The dimension of the hidden vectors.
    fn width(config: &Self::Config) -> usize;

    /// Refuses a batch that does not fit before anything is computed.
    fn check(_config: &Self::Config, _batch: &Self::Batch) -> Result<()> {
        Ok(())
    }

    /// Plain rows of numbers as a batch, where the backbone takes such.
    fn batch_of_rows(_config: &Self::Config, _rows: Tensor<2>) -> Option<Self::Batch> {
        None
    }

    /// The layers whose spectral norm the normalized methods bound; the residual ones, as a rule.
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        Vec::new()
    }

    /// The parts from the input up whose learning rates `layer_decay` sets apart: the beginning
    /// of their parameters' paths inside the backbone.
    fn depths(&self) -> Vec<String> {
        Vec::new()
    }

    /// How the mapping is put together, for certified bi-Lipschitz constants. The default
    /// certifies nothing.
    fn stages(&self) -> Vec<Stage> {
        Vec::new()
    }
}
