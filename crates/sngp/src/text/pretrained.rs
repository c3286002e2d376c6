//! Hugging Face model folders.

use std::fs;
use std::path::Path;

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use ndarray::Array2;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::sentences::Sentences;
use super::tokenizer::TextTokenizer;
use crate::backbone::{
    Backbone, Bert, BertConfig, EncoderConfig, PoolerActivation, PoolerConfig, Pooling,
};
use crate::data::Inputs;
use crate::files::read_json;
use crate::hash::hex;
use crate::model::tensors::Tensors;
use crate::network::weights_digest;
use crate::nn::{Dense, LayerNorm, TransformerConfig};
use crate::train::batches;
use crate::{Error, Pass, Result, host};

/// Sentences that are encoded together.
const EMBEDDED_TOGETHER: usize = 256;
const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
/// The tokenizer's file, in such a folder and in ours.
pub(super) const TOKENIZER: &str = "tokenizer.json";

/// An encoder with its tokenizer, as a Hugging Face folder holds it: `config.json`,
/// `model.safetensors`, `tokenizer.json`.
///
/// BERT of any size (`model_type` `bert`) and MPNet (`mpnet`). Mean pooling gets a pooler that
/// starts at the identity; pooling by the first token gets the pretrained pooler with its
/// hyperbolic tangent, where the folder has one.
///
/// ```no_run
/// use burn::tensor::Device;
/// use sngp::text::{EncoderOptions, PretrainedEncoder};
///
/// let options = EncoderOptions::default();
/// let encoder = PretrainedEncoder::read("all-MiniLM-L6-v2", &options, &Device::flex())?;
/// println!("{} layers", encoder.config.encoder.transformer.layers);
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
    /// How the vectors of tokens become one.
    pub pooling: Pooling,
    /// Where sentences are cut, special tokens included.
    pub max_tokens: usize,
    /// Dropout rate in place of the encoder's own ones.
    pub dropout: Option<f64>,
    /// Dropout rate of the pooled vectors.
    pub pooled_dropout: f64,
}

impl Default for EncoderOptions {
    fn default() -> Self {
        Self { pooling: Pooling::Mean, max_tokens: 32, dropout: None, pooled_dropout: 0.0 }
    }
}

/// What we need of Hugging Face's `config.json`.
#[derive(Debug, Deserialize)]
struct PublishedConfig {
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "gelu")]
    hidden_act: String,
    #[serde(default)]
    hidden_dropout_prob: f64,
    #[serde(default)]
    attention_probs_dropout_prob: f64,
    #[serde(default = "small")]
    layer_norm_eps: f64,
    #[serde(default)]
    type_vocab_size: usize,
    relative_attention_num_buckets: Option<usize>,
    position_embedding_type: Option<String>,
}

fn gelu() -> String {
    "gelu".to_string()
}

fn small() -> f64 {
    1e-12
}

/// The published code takes this number for granted, whatever the configuration says.
const MPNET_BUCKETS: usize = 32;

/// Where the two families keep the same weights.
struct Names {
    query: &'static str,
    key: &'static str,
    value: &'static str,
    context: &'static str,
    attention_norm: &'static str,
}

const BERT: Names = Names {
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    context: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
};

const MPNET: Names = Names {
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    context: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
};

impl PretrainedEncoder {
    /// Reads a folder.
    pub fn read(
        folder: impl AsRef<Path>,
        options: &EncoderOptions,
        device: &Device,
    ) -> Result<Self> {
        let &EncoderOptions { pooling, max_tokens, dropout, pooled_dropout } = options;
        let folder = folder.as_ref();
        if !folder.is_dir() {
            return Err(Error::corrupt(folder, "there is no such encoder folder"));
        }
        let path = folder.join(CONFIG);
        let published: PublishedConfig = read_json(&path)?;
        let (mut encoder, names) =
            published.encoder().map_err(|reason| Error::corrupt(&path, reason))?;
        if let Some(rate) = dropout {
            (encoder.transformer.dropout, encoder.transformer.attention_dropout) = (rate, rate);
        }
        if max_tokens > encoder.longest() {
            let rule = format!("the encoder takes at most {}", encoder.longest());
            return Err(Error::config("max_tokens", max_tokens, rule));
        }
        let path = folder.join(TOKENIZER);
        let json = fs::read(&path).map_err(Error::io(&path))?;
        let tokenizer = TextTokenizer::from_bytes(&path, &json, max_tokens)?;
        check_vocabulary(&path, &tokenizer, &encoder)?;
        let path = folder.join(WEIGHTS);
        let bytes = fs::read(&path).map_err(Error::io(&path))?;
        let tensors = Tensors::from_bytes(&path, &bytes)?;
        let mut weights = Weights { tensors, prefix: "", device };
        if weights
            .tensors
            .contains(&format!("{}.embeddings.LayerNorm.weight", published.model_type))
        {
            weights.prefix = &published.model_type;
        }
        let pretrained_pooler =
            pooling == Pooling::FirstToken && weights.has("pooler.dense.weight");
        let activation = match pretrained_pooler {
            true => PoolerActivation::Tanh,
            false => PoolerActivation::Identity,
        };
        let width = encoder.transformer.width;
        let pooler = PoolerConfig { width, activation, dropout: pooled_dropout };
        let config = BertConfig { encoder, pooling, pooler, max_tokens };
        let mut network = Bert::build(&config, device)?;
        weights.fill(&mut network, names).map_err(|error| match error {
            Error::Corrupt { .. } => error,
            error => Error::corrupt(&path, error.to_string()),
        })?;
        if pretrained_pooler {
            network.pooler.dense = weights.dense(&["pooler.dense"], &network.pooler.dense)?;
        }
        Ok(Self { config, network, tokenizer })
    }
}

impl PretrainedEncoder {
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
    encoder: &EncoderConfig,
) -> Result<()> {
    if tokenizer.vocabulary() <= encoder.vocabulary {
        return Ok(());
    }
    let reason = format!(
        "it has {} tokens, the encoder's weights have {}: it belongs to another model",
        tokenizer.vocabulary(),
        encoder.vocabulary
    );
    Err(Error::corrupt(path, reason))
}

impl PublishedConfig {
    fn encoder(&self) -> Result<(EncoderConfig, &'static Names), String> {
        let mpnet = match self.model_type.as_str() {
            "bert" => false,
            "mpnet" => true,
            other => return Err(format!("model_type is `{other}`; known: bert, mpnet")),
        };
        if self.hidden_act != "gelu" {
            return Err(format!("hidden_act is `{}`; known: gelu", self.hidden_act));
        }
        if let Some(kind) = self.position_embedding_type.as_deref().filter(|k| *k != "absolute") {
            return Err(format!("position_embedding_type is `{kind}`; known: absolute"));
        }
        let buckets = self.relative_attention_num_buckets.unwrap_or(MPNET_BUCKETS);
        if mpnet && buckets != MPNET_BUCKETS {
            let published = MPNET_BUCKETS;
            return Err(format!("relative_attention_num_buckets is {buckets}; known: {published}"));
        }
        let config = EncoderConfig {
            vocabulary: self.vocab_size,
            positions: self.max_position_embeddings,
            // MPNet counts positions from behind the padding's own, which is always 1.
            first_position: if mpnet { 2 } else { 0 },
            token_types: if mpnet { 0 } else { self.type_vocab_size },
            relative_buckets: mpnet.then_some(buckets),
            transformer: TransformerConfig {
                layers: self.num_hidden_layers,
                width: self.hidden_size,
                heads: self.num_attention_heads,
                inner: self.intermediate_size,
                dropout: self.hidden_dropout_prob,
                attention_dropout: self.attention_probs_dropout_prob,
                epsilon: self.layer_norm_eps,
            },
        };
        Ok((config, if mpnet { &MPNET } else { &BERT }))
    }
}

/// Published weights by their names, taken one by one.
struct Weights<'a> {
    tensors: Tensors,
    /// Models with a head of their own keep the encoder under the family's name.
    prefix: &'a str,
    device: &'a Device,
}

impl Weights<'_> {
    fn fill(&mut self, network: &mut Bert, names: &Names) -> Result<()> {
        let encoder = &mut network.encoder;
        let embeddings = &mut encoder.embeddings;
        embeddings.words = self.table("embeddings.word_embeddings.weight", &embeddings.words)?;
        embeddings.positions =
            self.table("embeddings.position_embeddings.weight", &embeddings.positions)?;
        if let Some(types) = &mut embeddings.types {
            *types = self.table("embeddings.token_type_embeddings.weight", types)?;
        }
        self.norm("embeddings.LayerNorm", &mut embeddings.norm)?;
        if let Some(bias) = &mut encoder.relative_bias {
            *bias = self.table("encoder.relative_attention_bias.weight", bias)?;
        }
        for (index, layer) in encoder.transformer.layers.iter_mut().enumerate() {
            let path = |name: &str| format!("encoder.layer.{index}.{name}");
            let qkv = [path(names.query), path(names.key), path(names.value)];
            layer.qkv = self.dense(&qkv, &layer.qkv)?;
            layer.context = self.dense(&[path(names.context)], &layer.context)?;
            self.norm(&path(names.attention_norm), &mut layer.attention_norm)?;
            layer.up = self.dense(&[path("intermediate.dense")], &layer.up)?;
            layer.down = self.dense(&[path("output.dense")], &layer.down)?;
            self.norm(&path("output.LayerNorm"), &mut layer.output_norm)?;
        }
        Ok(())
    }

    fn full_name(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_string() } else { format!("{}.{name}", self.prefix) }
    }

    fn has(&self, name: &str) -> bool {
        self.tensors.contains(&self.full_name(name))
    }

    fn take(&mut self, name: &str, expected: &[usize]) -> Result<Vec<f32>> {
        let name = self.full_name(name);
        let (shape, values) = self.tensors.take_f32(&name)?;
        if shape == expected {
            return Ok(values);
        }
        let what = format!("tensor `{name}` (does config.json belong to these weights?)");
        Err(Error::shape(what, format!("{expected:?}"), format!("{shape:?}")))
    }

    fn table(&mut self, name: &str, old: &Param<Tensor<2>>) -> Result<Param<Tensor<2>>> {
        let shape = old.lazy_shape().to_vec();
        let values = self.take(name, &shape)?;
        Ok(Param::from_data(TensorData::new(values, shape), self.device))
    }

    fn norm(&mut self, name: &str, norm: &mut LayerNorm) -> Result<()> {
        for (part, parameter) in [("weight", &mut norm.gamma), ("bias", &mut norm.beta)] {
            let shape = parameter.lazy_shape().to_vec();
            let values = self.take(&format!("{name}.{part}"), &shape)?;
            *parameter = Param::from_data(TensorData::new(values, shape), self.device);
        }
        Ok(())
    }

    /// Published layers are `[outputs, inputs]`; ours are transposed, and may be several side by
    /// side.
    fn dense(&mut self, names: &[impl AsRef<str>], old: &Dense) -> Result<Dense> {
        let shape = old.linear.weight.lazy_shape().to_vec();
        let (inputs, outputs) = (shape[0], shape[1]);
        let part = outputs / names.len();
        let mut weight = vec![0.0; inputs * outputs];
        let mut bias = Vec::with_capacity(outputs);
        for (index, name) in names.iter().enumerate() {
            let name = name.as_ref();
            let rows = self.take(&format!("{name}.weight"), &[part, inputs])?;
            for (output, row) in rows.chunks_exact(inputs).enumerate() {
                for (input, value) in row.iter().enumerate() {
                    weight[input * outputs + index * part + output] = *value;
                }
            }
            bias.extend(self.take(&format!("{name}.bias"), &[part])?);
        }
        let weight = TensorData::new(weight, [inputs, outputs]);
        Ok(Dense::from(burn::nn::Linear {
            weight: Param::from_data(weight, self.device),
            bias: Some(Param::from_data(TensorData::new(bias, [outputs]), self.device)),
        }))
    }
}
