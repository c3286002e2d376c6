//! The backbones that ship with the library, as one type.
//!
//! Training code is instantiated for every backbone it is used with. Code that works with any of
//! the shipped ones uses [`Shipped`], so that there is one instance of it; a backbone of your own
//! is used as itself.

use std::fmt;
use std::marker::PhantomData;

use burn::module::Module;
use burn::tensor::{Device, Gradients, Tensor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Backbone, Batch, Bert, BertConfig, Identity, IdentityConfig, Pooler, PoolerConfig, ResFfn,
    ResFfnConfig, ResNet, ResNetConfig, Standardize, StandardizeConfig, WhitenedResNet,
    WhitenedResNetConfig, WideResNet, WideResNetConfig,
};
use crate::data::Inputs;
use crate::spectral::{SpectralLayer, SpectralLayers, Stage};
use crate::text::TokenBatch;
use crate::{Error, Pass, Result};

/// A backbone in listings.
pub struct BackboneEntry {
    /// Its name.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
}

macro_rules! shipped {
    ($($(#[$doc:meta])* $name:ident($config:ident) takes $batch:ident: $summary:literal,)+) => {
        /// The backbones that ship with the library.
        pub static BACKBONES: &[BackboneEntry] =
            &[$(BackboneEntry { name: $name::NAME, summary: $summary }),+];

        /// Any of the backbones that ship with the library.
        ///
        /// ```
        /// use burn::tensor::{Device, Tensor};
        /// use sngp::Pass;
        /// use sngp::backbone::{Backbone, IdentityConfig, Shipped, ShippedConfig};
        ///
        /// let config = ShippedConfig::from(IdentityConfig { width: 2 });
        /// let network = Shipped::build(&config, &Device::flex())?;
        /// let vectors = Tensor::<2>::zeros([3, 2], &Device::flex());
        /// assert_eq!(network.forward(vectors.into(), &mut Pass::evaluate()).dims(), [3, 2]);
        /// assert_eq!(Shipped::name(&config), "identity");
        /// # Ok::<(), sngp::Error>(())
        /// ```
        #[derive(Module, Debug)]
        #[allow(
            clippy::large_enum_variant,
            reason = "one a network, and a Burn module cannot be boxed"
        )]
        pub enum Shipped {
            $($(#[$doc])* $name($name),)+
        }

        /// The configuration of a [`Shipped`] backbone. It is saved as the backbone's own would
        /// be, beside its name; [`Backbone::read_config`] reads both.
        #[derive(Clone, PartialEq, Serialize, Deserialize)]
        #[serde(untagged)]
        pub enum ShippedConfig {
            $($(#[$doc])* $name($config),)+
        }

        /// As the backbone's own: what is hashed of a training does not depend on the wrapping.
        impl fmt::Debug for ShippedConfig {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name(config) => config.fmt(formatter),)+
                }
            }
        }

        $(
            impl From<$config> for ShippedConfig {
                fn from(config: $config) -> Self {
                    Self::$name(config)
                }
            }

            impl From<$name> for Shipped {
                fn from(network: $name) -> Self {
                    Self::$name(network)
                }
            }
        )+

        impl SpectralLayers for Shipped {
            fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
                match self {
                    $(Self::$name(network) => network.spectral_layers(),)+
                }
            }
        }

        impl Backbone for Shipped {
            const NAME: &'static str = "shipped";
            type Config = ShippedConfig;
            type Batch = ShippedBatch;

            fn build(config: &ShippedConfig, device: &Device) -> Result<Self> {
                match config {
                    $(ShippedConfig::$name(config) => {
                        $name::build(config, device).map(Self::$name)
                    })+
                }
            }

            fn forward(&self, batch: ShippedBatch, pass: &mut Pass) -> Tensor<2> {
                match (self, batch) {
                    $((Self::$name(network), ShippedBatch::$batch(batch)) => {
                        network.forward(batch, pass)
                    })+
                    _ => unreachable!("a batch of another kind, which `check` refuses"),
                }
            }

            fn width(config: &ShippedConfig) -> usize {
                match config {
                    $(ShippedConfig::$name(config) => $name::width(config),)+
                }
            }

            fn check(config: &ShippedConfig, batch: &ShippedBatch) -> Result<()> {
                match (config, batch) {
                    $((ShippedConfig::$name(config), ShippedBatch::$batch(batch)) => {
                        $name::check(config, batch)
                    })+
                    (config, batch) => {
                        let (name, kind) = (Self::name(config), batch.kind());
                        Err(Error::Unsupported(format!("backbone `{name}` takes no {kind}")))
                    }
                }
            }

            fn batch_of_rows(config: &ShippedConfig, rows: Tensor<2>) -> Option<ShippedBatch> {
                match config {
                    $(ShippedConfig::$name(config) => {
                        $name::batch_of_rows(config, rows).map(ShippedBatch::$batch)
                    })+
                }
            }

            fn batch_of_tokens(config: &ShippedConfig, tokens: TokenBatch) -> Option<ShippedBatch> {
                match config {
                    $(ShippedConfig::$name(config) => {
                        $name::batch_of_tokens(config, tokens).map(ShippedBatch::$batch)
                    })+
                }
            }

            fn input(config: &ShippedConfig) -> super::InputShape {
                match config {
                    $(ShippedConfig::$name(config) => $name::input(config),)+
                }
            }

            /// Burn's paths have the variant's name in them.
            fn depths(&self) -> Vec<String> {
                match self {
                    $(Self::$name(network) => {
                        let variant = stringify!($name);
                        let depths = network.depths().into_iter();
                        depths.map(|depth| format!("{variant}.{depth}")).collect()
                    })+
                }
            }

            fn stages(&self) -> Vec<Stage> {
                match self {
                    $(Self::$name(network) => network.stages(),)+
                }
            }

            fn name(config: &ShippedConfig) -> &'static str {
                match config {
                    $(ShippedConfig::$name(_) => $name::NAME,)+
                }
            }

            fn read_config(name: &str, saved: Value) -> Result<ShippedConfig> {
                match name {
                    $($name::NAME => $name::read_config(name, saved).map(ShippedConfig::$name),)+
                    _ => Err(Error::Unknown {
                        kind: "backbone",
                        name: name.to_string(),
                        known: [$($name::NAME),+].join(", "),
                    }),
                }
            }
        }
    };
}

shipped! {
    /// A residual feed-forward network.
    ResFfn(ResFfnConfig) takes Vectors:
        "residual feed-forward network for vectors, any depth and width",
    /// A wide residual network.
    WideResNet(WideResNetConfig) takes Images:
        "wide residual network for images, any depth and width",
    /// A residual network of published weights.
    ResNet(ResNetConfig) takes Images:
        "residual network of published CIFAR weights, any depth",
    /// A residual network that is trained in minutes.
    WhitenedResNet(WhitenedResNetConfig) takes Images:
        "residual network on whitened patches for images, trained in minutes",
    /// A text encoder.
    Bert(BertConfig) takes Sentences:
        "encoder of BERT's family for sentences, from a Hugging Face folder",
    /// No mapping at all.
    Identity(IdentityConfig) takes Vectors:
        "vectors as they are, for embeddings of another model and tables",
    /// Columns in units of their own.
    Standardize(StandardizeConfig) takes Vectors:
        "columns less their means, in units of their own, for vectors of unlike columns",
    /// One layer on vectors of a frozen encoder.
    Pooler(PoolerConfig) takes Vectors:
        "one layer started at the identity, for vectors of an encoder not trained",
}

/// What a [`Shipped`] backbone takes.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one a forward pass")]
pub enum ShippedBatch {
    /// Vectors `[rows, columns]`.
    Vectors(Tensor<2>),
    /// Images `[rows, channels, height, width]`.
    Images(Tensor<4>),
    /// Tokenized sentences.
    Sentences(TokenBatch),
}

impl ShippedBatch {
    fn kind(&self) -> &'static str {
        match self {
            Self::Vectors(_) => "vectors",
            Self::Images(_) => "images",
            Self::Sentences(_) => "sentences",
        }
    }
}

impl From<Tensor<2>> for ShippedBatch {
    fn from(vectors: Tensor<2>) -> Self {
        Self::Vectors(vectors)
    }
}

impl From<Tensor<4>> for ShippedBatch {
    fn from(images: Tensor<4>) -> Self {
        Self::Images(images)
    }
}

impl From<TokenBatch> for ShippedBatch {
    fn from(sentences: TokenBatch) -> Self {
        Self::Sentences(sentences)
    }
}

impl Batch for ShippedBatch {
    fn rows(&self) -> usize {
        match self {
            Self::Vectors(batch) => batch.rows(),
            Self::Images(batch) => batch.rows(),
            Self::Sentences(batch) => batch.rows(),
        }
    }

    fn track(self) -> Self {
        match self {
            Self::Vectors(batch) => Self::Vectors(batch.track()),
            Self::Images(batch) => Self::Images(batch.track()),
            Self::Sentences(batch) => Self::Sentences(batch.track()),
        }
    }

    fn gradient(&self, gradients: &Gradients) -> Option<Tensor<2>> {
        match self {
            Self::Vectors(batch) => batch.gradient(gradients),
            Self::Images(batch) => batch.gradient(gradients),
            Self::Sentences(batch) => batch.gradient(gradients),
        }
    }

    fn shift(&self, delta: Tensor<2>) -> Self {
        match self {
            Self::Vectors(batch) => Self::Vectors(batch.shift(delta)),
            Self::Images(batch) => Self::Images(batch.shift(delta)),
            Self::Sentences(batch) => Self::Sentences(batch.shift(delta)),
        }
    }

    fn flatten(&self) -> Option<Tensor<2>> {
        match self {
            Self::Vectors(batch) => batch.flatten(),
            Self::Images(batch) => batch.flatten(),
            Self::Sentences(batch) => batch.flatten(),
        }
    }
}

impl Shipped {
    /// Inputs of one of the shipped backbones as inputs of any.
    ///
    /// ```
    /// use ndarray::array;
    /// use sngp::backbone::Shipped;
    /// use sngp::data::{Labelled, Table, Targets};
    ///
    /// let vectors = Table::new(array![[0.0, 1.0], [1.0, 0.0]].view())?;
    /// let data = Labelled::new(Shipped::inputs(vectors), Targets::classes(vec![0, 1], 2)?)?;
    /// assert_eq!(data.rows(), 2);
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn inputs<T: Into<ShippedBatch>, I: Inputs<T>>(inputs: I) -> ShippedInputs<T, I> {
        ShippedInputs { inputs, batch: PhantomData }
    }
}

/// Inputs of one of the shipped backbones, see [`Shipped::inputs`].
#[derive(Clone, Debug)]
pub struct ShippedInputs<T, I> {
    inputs: I,
    batch: PhantomData<fn() -> T>,
}

impl<T: Into<ShippedBatch>, I: Inputs<T>> Inputs<ShippedBatch> for ShippedInputs<T, I> {
    fn rows(&self) -> usize {
        self.inputs.rows()
    }

    fn batch(&self, rows: &[usize], device: &Device) -> ShippedBatch {
        self.inputs.batch(rows, device).into()
    }

    fn training_batch(&self, rows: &[usize], seed: u64, device: &Device) -> ShippedBatch {
        self.inputs.training_batch(rows, seed, device).into()
    }

    fn digest(&self) -> Option<[u8; 32]> {
        self.inputs.digest()
    }

    fn length(&self, row: usize) -> usize {
        self.inputs.length(row)
    }
}
