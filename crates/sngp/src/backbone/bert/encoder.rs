//! From tokens to one vector a sentence.

use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Int, Tensor};

use super::config::{EncoderConfig, Pooling};
use super::relative_position::buckets;
use crate::nn::{Dropout, LayerNorm, ScoreTerms, TransformerEncoder};
use crate::text::TokenBatch;
use crate::{Pass, Result};

/// Embeddings, transformer layers, pooling.
#[derive(Module, Debug)]
pub struct TextEncoder {
    /// The first vectors of tokens.
    pub embeddings: Embeddings,
    /// The layers.
    pub transformer: TransformerEncoder,
    /// The bias of every bucket of relative positions and head, `[buckets, heads]`.
    pub relative_bias: Option<Param<Tensor<2>>>,
    #[module(skip)]
    pooling: Pooling,
}

impl TextEncoder {
    /// An encoder as it is before any training.
    pub(super) fn new(config: &EncoderConfig, pooling: Pooling, device: &Device) -> Result<Self> {
        let relative_bias =
            config.relative_buckets.map(|buckets| table(buckets, config.transformer.heads, device));
        Ok(Self {
            embeddings: Embeddings::new(config, device),
            transformer: config.transformer.init(device)?,
            relative_bias,
            pooling,
        })
    }

    /// One vector a sentence.
    ///
    /// # Shapes
    /// - output: `[rows, width]`
    pub fn forward(&self, batch: TokenBatch, pass: &mut Pass) -> Tensor<2> {
        let tokens = self.tokens(&batch, pass);
        let [rows, length, width] = tokens.dims();
        match (self.pooling, batch.real()) {
            (Pooling::FirstToken, _) => tokens.slice_dim(1, 0..1).reshape([rows, width]),
            (Pooling::Mean, None) => tokens.mean_dim(1).reshape([rows, width]),
            (Pooling::Mean, Some(real)) => {
                let share = real.clone() / real.clone().sum_dim(1);
                let weights = share.reshape([rows, length, 1]);
                (tokens * weights).sum_dim(1).reshape([rows, width])
            }
        }
    }

    /// The vectors of all tokens, `[rows, tokens, width]`; those of padding mean nothing.
    pub fn tokens(&self, batch: &TokenBatch, pass: &mut Pass) -> Tensor<3> {
        let embedded = self.embeddings.forward(batch, pass);
        let length = batch.ids().dims()[1];
        let bias = self.relative_bias.as_ref().map(|bias| {
            let [count, heads] = bias.dims();
            let pairs = buckets(length, count, &embedded.device());
            bias.val().select(0, pairs).reshape([length, length, heads]).permute([2, 0, 1])
        });
        // ln(1) = 0 and ln(0) = -infinity: what has to be added to the scores.
        let mask = batch.real().map(|real| real.clone().log());
        self.transformer.forward(embedded, &ScoreTerms { mask, bias }, pass)
    }

    pub(super) fn layers(&self) -> usize {
        self.transformer.layers.len()
    }
}

/// `dropout(norm(word + position + type))`.
#[derive(Module, Debug)]
pub struct Embeddings {
    /// A row a token id.
    pub words: Param<Tensor<2>>,
    /// A row a position.
    pub positions: Param<Tensor<2>>,
    /// A row a token type; sentences use the first.
    pub types: Option<Param<Tensor<2>>>,
    /// After the sum.
    pub norm: LayerNorm,
    dropout: Dropout,
    first_position: usize,
}

impl Embeddings {
    fn new(config: &EncoderConfig, device: &Device) -> Self {
        let EncoderConfig { transformer, .. } = config;
        let width = transformer.width;
        Self {
            words: table(config.vocabulary, width, device),
            positions: table(config.positions, width, device),
            types: (config.token_types > 0).then(|| table(config.token_types, width, device)),
            norm: LayerNorm::new(width, transformer.epsilon, device),
            dropout: Dropout::new(transformer.dropout),
            first_position: config.first_position,
        }
    }

    fn forward(&self, batch: &TokenBatch, pass: &mut Pass) -> Tensor<3> {
        let ids: Tensor<2, Int> = batch.ids().clone();
        let length = ids.dims()[1];
        let rows = self.first_position..self.first_position + length;
        let mut positions = self.positions.val().slice_dim(0, rows);
        if let Some(types) = &self.types {
            positions = positions + types.val().slice_dim(0, 0..1);
        }
        let words = burn::tensor::module::embedding(self.words.val(), ids);
        let mut sum = words + positions.unsqueeze::<3>();
        if let Some(displacement) = batch.displacement() {
            sum = sum + displacement.clone();
        }
        self.dropout.forward(self.norm.forward(sum, None), pass)
    }
}

/// A table of vectors with BERT's initialization.
fn table(rows: usize, columns: usize, device: &Device) -> Param<Tensor<2>> {
    Initializer::Normal { mean: 0.0, std: 0.02 }.init([rows, columns], device)
}
