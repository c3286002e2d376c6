//! What an encoder is made of.

use serde::{Deserialize, Serialize};

use super::pooler::PoolerConfig;
use crate::nn::TransformerConfig;
use crate::{Error, Result};

/// Configuration of a [`Bert`](super::Bert).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BertConfig {
    /// The encoder.
    pub encoder: EncoderConfig,
    /// How the vectors of tokens become one.
    pub pooling: Pooling,
    /// The layer on top.
    pub pooler: PoolerConfig,
    /// Where sentences are cut, special tokens included.
    pub max_tokens: usize,
}

/// How the vectors of a sentence's tokens become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The first token's: the classification token of BERT.
    FirstToken,
    /// Their mean, padding left out.
    #[default]
    Mean,
}

/// The sizes of an encoder, as its `config.json` has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderConfig {
    /// Number of token ids.
    pub vocabulary: usize,
    /// Rows of the table of positions.
    pub positions: usize,
    /// The row of a sentence's first token there.
    pub first_position: usize,
    /// Rows of the table of token types; 0 where there is none.
    pub token_types: usize,
    /// Buckets of the relative position bias, where there is one (MPNet).
    pub relative_buckets: Option<usize>,
    /// The layers.
    pub transformer: TransformerConfig,
}

impl EncoderConfig {
    /// The longest sentence it can take, in tokens.
    pub fn longest(&self) -> usize {
        self.positions.saturating_sub(self.first_position)
    }

    pub(super) fn check(&self) -> Result<()> {
        for (what, value) in [("vocabulary", self.vocabulary), ("positions", self.longest())] {
            if value == 0 {
                return Err(Error::config(what, value, "it must be at least 1"));
            }
        }
        match self.relative_buckets {
            Some(buckets) if buckets < 4 || buckets % 2 != 0 => {
                let rule = "it must be even, from 4 on";
                Err(Error::config("relative_buckets", buckets, rule))
            }
            _ => Ok(()),
        }
    }
}

impl BertConfig {
    pub(super) fn check(&self) -> Result<()> {
        self.encoder.check()?;
        let (pooler, width) = (self.pooler.width, self.encoder.transformer.width);
        if pooler != width {
            return Err(Error::shape("width of the pooler", width, pooler));
        }
        if !(1..=self.encoder.longest()).contains(&self.max_tokens) {
            let rule = format!("it must be from 1 to {}", self.encoder.longest());
            return Err(Error::config("max_tokens", self.max_tokens, rule));
        }
        Ok(())
    }

    /// An encoder of two layers, to try things out.
    pub fn small(vocabulary: usize, width: usize) -> Self {
        Self {
            encoder: EncoderConfig {
                vocabulary,
                positions: 64,
                first_position: 0,
                token_types: 2,
                relative_buckets: None,
                transformer: TransformerConfig {
                    layers: 2,
                    width,
                    heads: 4,
                    inner: 2 * width,
                    ..Default::default()
                },
            },
            pooling: Pooling::Mean,
            pooler: PoolerConfig { width, ..Default::default() },
            max_tokens: 32,
        }
    }
}
