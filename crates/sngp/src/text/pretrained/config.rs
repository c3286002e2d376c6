//! Hugging Face's `config.json`.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::family::{FAMILIES, Family, Positions, kinds};
use crate::backbone::EncoderConfig;
use crate::files::read_json;
use crate::nn::TransformerConfig;
use crate::{Error, Result};

/// What we need of Hugging Face's `config.json`.
#[derive(Debug, Deserialize)]
struct PublishedConfig {
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
    pad_token_id: Option<usize>,
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

/// Our configuration of the encoder that a `config.json` is of, and its family.
pub(super) fn read(path: &Path) -> Result<(EncoderConfig, &'static Family)> {
    let mut json: Map<String, Json> = read_json(path)?;
    let at = |reason: String| Error::corrupt(path, reason);
    let kind = json.get("model_type").and_then(Json::as_str).unwrap_or_default();
    let family = FAMILIES.iter().find(|family| family.kinds.contains(&kind)).ok_or_else(|| {
        let known = kinds().collect::<Vec<_>>().join(", ");
        at(format!("model_type is `{kind}`; known: {known}"))
    })?;
    for (theirs, usual) in family.keys {
        if let Some(value) = json.remove(*theirs) {
            json.insert(usual.to_string(), value);
        }
    }
    let published: PublishedConfig =
        serde_json::from_value(Json::Object(json)).map_err(|error| at(error.to_string()))?;
    Ok((published.encoder(family).map_err(at)?, family))
}

impl PublishedConfig {
    fn encoder(self, family: &Family) -> Result<EncoderConfig, String> {
        if self.hidden_act != "gelu" {
            return Err(format!("hidden_act is `{}`; known: gelu", self.hidden_act));
        }
        if let Some(kind) = self.position_embedding_type.as_deref().filter(|k| *k != "absolute") {
            return Err(format!("position_embedding_type is `{kind}`; known: absolute"));
        }
        if let (Some(known), Some(buckets)) =
            (family.relative_buckets, self.relative_attention_num_buckets)
            && known != buckets
        {
            return Err(format!("relative_attention_num_buckets is {buckets}; known: {known}"));
        }
        Ok(EncoderConfig {
            vocabulary: self.vocab_size,
            positions: self.max_position_embeddings,
            first_position: match family.positions {
                Positions::FromZero => 0,
                Positions::From(row) => row,
                Positions::BehindPadding(usual) => {
                    self.pad_token_id.unwrap_or(usual).saturating_add(1)
                }
            },
            token_types: if family.has_types { self.type_vocab_size } else { 0 },
            relative_buckets: family.relative_buckets,
            transformer: TransformerConfig {
                layers: self.num_hidden_layers,
                width: self.hidden_size,
                heads: self.num_attention_heads,
                inner: self.intermediate_size,
                dropout: self.hidden_dropout_prob,
                attention_dropout: self.attention_probs_dropout_prob,
                epsilon: self.layer_norm_eps,
            },
        })
    }
}
