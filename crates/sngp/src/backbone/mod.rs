//! Hidden mappings `h(x)`.
//!
//! A backbone is a Burn module with one small trait. Implement [`Backbone`] for a module of your
//! own and it has every method of the library; `examples/own_backbone.rs` shows it in full. The
//! ones that ship with the library are listed in [`BACKBONES`]: one file, one line.

mod batch;
mod bert;
mod identity;
mod images;
mod res_ffn;
mod resnet;
mod shipped;
mod standardize;
mod whitened_resnet;
mod whitening;
mod wide_resnet;

pub use batch::Batch;
pub use bert::{
    Bert, BertConfig, EncoderConfig, Pooler, PoolerActivation, PoolerConfig, Pooling, TextEncoder,
    relative_buckets,
};
pub use identity::{Identity, IdentityConfig};
pub use images::Normalization;
pub use res_ffn::{ResFfn, ResFfnConfig};
pub use resnet::{ResNet, ResNetConfig};
pub use shipped::{BACKBONES, BackboneEntry, Shipped, ShippedBatch, ShippedConfig, ShippedInputs};
pub use standardize::{FARTHEST, Standardize, StandardizeConfig};
pub use whitened_resnet::{WhitenedResNet, WhitenedResNetConfig};
pub use whitening::Whitening;
pub use wide_resnet::{WideResNet, WideResNetConfig};

use burn::module::{Module, ModuleDisplay};
use burn::tensor::{Device, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::spectral::{SpectralLayers, Stage};
use crate::text::TokenBatch;
use crate::{Error, Pass, Result};

/// What a backbone takes, in the words of a model's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InputShape {
    /// Vectors of so many numbers.
    Vectors {
        /// Numbers of a vector.
        width: usize,
    },
    /// Images of numbers from 0 to 1.
    Images {
        /// Channels, e.g. 3 for colours.
        channels: usize,
        /// Rows of pixels.
        height: usize,
        /// Columns of pixels.
        width: usize,
    },
    /// Sentences in tokens.
    Sentences {
        /// The most tokens a sentence may have.
        max_tokens: usize,
        /// Rows of the table of tokens.
        vocabulary: usize,
        /// Numbers of a token's vector.
        token_width: usize,
    },
    /// Something the library does not know.
    Other,
}

/// A hidden mapping from a batch of inputs to vectors.
pub trait Backbone: Module + ModuleDisplay + SpectralLayers + Sync + 'static {
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

    /// Tokenized sentences as a batch, where the backbone takes such.
    fn batch_of_tokens(_config: &Self::Config, _tokens: TokenBatch) -> Option<Self::Batch> {
        None
    }

    /// What it takes, for a model's signature.
    fn input(_config: &Self::Config) -> InputShape {
        InputShape::Other
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

    /// The name a backbone of this configuration is saved and listed by: [`NAME`](Self::NAME),
    /// unless one type stands for several.
    fn name(_config: &Self::Config) -> &'static str {
        Self::NAME
    }

    /// The configuration of a saved model.
    fn read_config(name: &str, saved: Value) -> Result<Self::Config> {
        if name != Self::NAME {
            let message = format!("its backbone is `{name}`, not `{}`", Self::NAME);
            return Err(Error::Data(message));
        }
        serde_json::from_value(saved).map_err(|error| Error::Data(error.to_string()))
    }
}
