//! Hugging Face's `config.json`.

use serde::Deserialize;

use super::weights::{BERT, MPNET, Names};
use crate::backbone::EncoderConfig;
use crate::nn::TransformerConfig;

/// What we need of Hugging Face's `config.json`.
#[derive(Debug, Deserialize)]
pub(super) struct PublishedConfig {
    pub model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "gelu")]
    hidden_act: String,
    #[serde(default = "usual_dropout")]
    hidden_dropout_prob: f64,
    #[serde(default = "usual_dropout")]
    attention_probs_dropout_prob: f64,
    #[serde(default = "small")]
    layer_norm_eps: f64,
    #[serde(default = "two")]
    type_vocab_size: usize,
    relative_attention_num_buckets: Option<usize>,
    position_embedding_type: Option<String>,
}

// What the published code takes where a key is absent.

fn usual_dropout() -> f64 {
    0.1
}

fn two() -> usize {
    2
}

fn gelu() -> String {
    "gelu".to_string()
}

fn small() -> f64 {
    1e-12
}

/// The published code takes this number for granted, whatever the configuration says.
const MPNET_BUCKETS: usize = 32;

impl PublishedConfig {
    /// Our configuration of the same encoder, and what its weights are called.
    pub fn encoder(&self) -> Result<(EncoderConfig, &'static Names), String> {
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
