//! Hugging Face model folders.

mod config;
mod family;
mod recipe;
mod weights;

pub use recipe::SentenceRecipe;

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use ndarray::Array2;
use sha2::{Digest, Sha256};

use self::weights::Weights;
use super::sentences::Sentences;
use super::tokenizer::TextTokenizer;
use crate::backbone::{Backbone, Bert, BertConfig, PoolerActivation, PoolerConfig, Pooling};
use crate::data::Inputs;
use crate::hash::hex;
use crate::model::tensors::Tensors;
use crate::network::weights_digest;
use crate::train::batches;
use crate::{Error, Pass, Result, host};

/// Sentences that are encoded together.
const EMBEDDED_TOGETHER: usize = 256;
const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
/// The tokenizer's file, in such a folder and in ours.
pub(super) const TOKENIZER: &str = "tokenizer.json";
/// What sentences begin with, in our folder.
pub(super) const PROMPT: &str = "prompt.txt";

/// An encoder with its tokenizer, as a Hugging Face folder holds it: `config.json`,
/// `model.safetensors`, `tokenizer.json`.
///
/// Any size of BERT, RoBERTa, XLM-RoBERTa, CamemBERT, DistilBERT and MPNet
/// ([`kinds`](Self::kinds)). What comes after pooling starts at the identity; only where the first
/// token is asked for by [`EncoderOptions::pooling`] it is the pretrained pooler with its hyperbolic
/// tangent, if the folder has one.
///
/// ```
/// use burn::tensor::Device;
/// use sngp::text::{EncoderOptions, PretrainedEncoder};
///
/// # let folder = "tests/golden/encoders/tiny-bert"; // in place of e.g. all-MiniLM-L6-v2
/// let options = EncoderOptions { max_tokens: 24, ..Default::default() };
/// let encoder = PretrainedEncoder::read(folder, &options, &Device::flex())?;
/// let sentences = encoder.sentences(&["a cat", "the dog sat"])?;
/// assert_eq!(encoder.embed(&sentences, &Device::flex()).dim(), (2, 16));
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PretrainedEncoder {
    /// Its configuration.
    pub config: BertConfig,
    /// Its weights.
    pub network: Bert,
    /// Its tokenizer.
    pub tokenizer: TextTokenizer,
}

/// How an encoder is used.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderOptions {
    /// How the vectors of tokens become one; as the folder says ([`SentenceRecipe`]) when absent.
    pub pooling: Option<Pooling>,
    /// What every sentence begins with, e.g. `query: `; as the folder says when absent.
    pub prompt: Option<String>,
    /// Where sentences are cut, special tokens included.
    pub max_tokens: usize,
    /// Dropout rate in place of the encoder's own ones.
    pub dropout: Option<f64>,
    /// Dropout rate of the pooled vectors.
    pub pooled_dropout: f64,
}

impl Default for EncoderOptions {
    fn default() -> Self {
        Self { pooling: None, prompt: None, max_tokens: 32, dropout: None, pooled_dropout: 0.0 }
    }
}

impl PretrainedEncoder {
    /// What `model_type` of `config.json` may be.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        family::kinds()
    }

    /// The most tokens the encoder of a folder takes; its weights are not read.
    pub fn longest(folder: impl AsRef<Path>) -> Result<usize> {
        let (encoder, _) = config::read(&folder.as_ref().join(CONFIG))?;
        Ok(encoder.longest())
    }

    /// Reads a folder.
    pub fn read(
        folder: impl AsRef<Path>,
        options: &EncoderOptions,
        device: &Device,
    ) -> Result<Self> {
        let &EncoderOptions { max_tokens, dropout, pooled_dropout, .. } = options;
        let folder = folder.as_ref();
        if !folder.is_dir() {
            return Err(Error::corrupt(folder, "there is no such encoder folder"));
        }
        let (mut encoder, family) = config::read(&folder.join(CONFIG))?;
        let recipe =
            SentenceRecipe::read(|name| Some(folder.join(name)).filter(|path| path.is_file()))?;
        let pooling = options.pooling.unwrap_or(recipe.pooling);
        let prompt = options.prompt.as_deref().unwrap_or(&recipe.prompt);
        if let Some(rate) = dropout {
            (encoder.transformer.dropout, encoder.transformer.attention_dropout) = (rate, rate);
        }
        if max_tokens > encoder.longest() {
            let rule = format!("the encoder takes at most {}", encoder.longest());
            return Err(Error::config("max_tokens", max_tokens, rule));
        }
        let path = folder.join(TOKENIZER);
        let json = fs::read(&path).map_err(Error::io(&path))?;
        let tokenizer = TextTokenizer::from_bytes(&path, &json, max_tokens)?.with_prompt(prompt)?;
        check_vocabulary(&path, &tokenizer, encoder.vocabulary)?;
        let path = folder.join(WEIGHTS);
        let bytes = fs::read(&path).map_err(Error::io(&path))?;
        let tensors = Tensors::from_bytes(&path, &bytes)?;
        let mut weights = Weights { tensors, prefix: "", device };
        if weights.tensors.contains(&format!("{}.embeddings.LayerNorm.weight", family.prefix)) {
            weights.prefix = family.prefix;
        }
        let pretrained_pooler =
            options.pooling == Some(Pooling::FirstToken) && weights.has("pooler.dense.weight");
        let activation = match pretrained_pooler {
            true => PoolerActivation::Tanh,
            false => PoolerActivation::Identity,
        };
        let width = encoder.transformer.width;
        let pooler = PoolerConfig { width, activation, dropout: pooled_dropout };
        let config = BertConfig { encoder, pooling, pooler, max_tokens };
        let mut network = Bert::build(&config, device)?;
        weights.fill(&mut network, &family.names).map_err(|error| match error {
            Error::Corrupt { .. } => error,
            error => Error::corrupt(&path, error.to_string()),
        })?;
        if pretrained_pooler {
            network.pooler.dense = weights.dense(&["pooler.dense"], &network.pooler.dense)?;
        }
        Ok(Self { config, network, tokenizer })
    }

    /// Texts as inputs of the encoder.
    pub fn sentences<T: AsRef<str>>(&self, texts: &[T]) -> Result<Sentences> {
        Sentences::new(&self.tokenizer, texts, self.config.encoder.transformer.width)
    }

    /// One vector a sentence, as the encoder pools it, before the pooler: `[rows, width]`.
    pub fn embed(&self, sentences: &Sentences, device: &Device) -> Array2<f32> {
        let mut vectors = Array2::zeros((sentences.rows(), self.config.encoder.transformer.width));
        for rows in batches(sentences, EMBEDDED_TOGETHER) {
            let batch = sentences.batch(&rows, device);
            let part = self.network.encoder.forward(batch, &mut Pass::evaluate());
            for (vector, row) in host::matrix_f32(part).outer_iter().zip(rows) {
                vectors.row_mut(row).assign(&vector);
            }
        }
        vectors
    }

    /// A hash of the encoder's weights and the sentences: what their vectors depend on.
    pub fn fingerprint(&self, sentences: &Sentences) -> String {
        let mut hasher = Sha256::new();
        hasher.update(format!("{:?}", self.config));
        hasher.update(weights_digest(&self.network.encoder));
        hasher.update(sentences.digest().unwrap_or_default());
        hex(&hasher.finalize())
    }
}

/// A tokenizer with more ids than the table has rows belongs to another model.
pub(super) fn check_vocabulary(
    path: &Path,
    tokenizer: &TextTokenizer,
    vocabulary: usize,
) -> Result<()> {
    if tokenizer.vocabulary() <= vocabulary {
        return Ok(());
    }
    let reason = format!(
        "its ids need {} rows, the encoder's weights have {vocabulary}: it belongs to another model",
        tokenizer.vocabulary(),
    );
    Err(Error::corrupt(path, reason))
}
