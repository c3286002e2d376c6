//! BERT's encoder: layers of attention and feed-forward blocks, normalized after each.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};
use sngp_kernels::{Activation, AttentionOptions, attention};

use super::{Dense, Dropout, LayerNorm};
use crate::{Error, Pass, Result};

/// Configuration of a [`TransformerEncoder`]; MiniLM's by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransformerConfig {
    /// Number of layers.
    pub layers: usize,
    /// Width of the tokens' vectors.
    pub width: usize,
    /// Number of attention heads; divides the width.
    pub heads: usize,
    /// Width inside the feed-forward blocks.
    pub inner: usize,
    /// Dropout rate of what is added to the residuals.
    pub dropout: f64,
    /// Dropout rate of attention probabilities.
    pub attention_dropout: f64,
    /// Added to the variances that are normalized by.
    pub epsilon: f64,
}

impl Default for TransformerConfig {
    fn default() -> Self {
        Self {
            layers: 6,
            width: 384,
            heads: 12,
            inner: 1536,
            dropout: 0.1,
            attention_dropout: 0.1,
            epsilon: 1e-12,
        }
    }
}

impl TransformerConfig {
    /// Draws an encoder.
    pub fn init(&self, device: &Device) -> Result<TransformerEncoder> {
        if self.heads == 0 || self.width == 0 || !self.width.is_multiple_of(self.heads) {
            let rule = format!("it must divide the width {}", self.width);
            return Err(Error::config("the number of heads", self.heads, &rule));
        }
        for (what, rate) in
            [("dropout", self.dropout), ("attention_dropout", self.attention_dropout)]
        {
            if !(0.0..1.0).contains(&rate) {
                return Err(Error::config(what, rate, "it must be in [0, 1)"));
            }
        }
        let layers = (0..self.layers).map(|_| TransformerLayer {
            qkv: Dense::new(self.width, 3 * self.width, device),
            context: Dense::new(self.width, self.width, device),
            attention_norm: LayerNorm::new(self.width, self.epsilon, device),
            up: Dense::new(self.width, self.inner, device),
            down: Dense::new(self.inner, self.width, device),
            output_norm: LayerNorm::new(self.width, self.epsilon, device),
            dropout: Dropout::new(self.dropout),
            attention_dropout: Dropout::new(self.attention_dropout),
            heads: self.heads,
        });
        Ok(TransformerEncoder { layers: layers.collect() })
    }
}

/// Maps the vectors of a sentence's tokens to vectors that know their context.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::Pass;
/// use sngp::nn::TransformerConfig;
///
/// let device = Device::flex();
/// let config = TransformerConfig { layers: 2, width: 8, heads: 2, inner: 16, ..Default::default() };
/// let encoder = config.init(&device)?;
/// let tokens = Tensor::zeros([1, 5, 8], &device);
/// let output = encoder.forward(tokens, &Default::default(), &mut Pass::evaluate());
/// assert_eq!(output.dims(), [1, 5, 8]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct TransformerEncoder {
    /// The layers, first to last.
    pub layers: Vec<TransformerLayer>,
}

impl TransformerEncoder {
    /// The vectors of all tokens.
    ///
    /// # Shapes
    /// - tokens and output: `[batch, tokens, width]`
    pub fn forward(&self, tokens: Tensor<3>, scores: &ScoreTerms, pass: &mut Pass) -> Tensor<3> {
        self.layers.iter().fold(tokens, |tokens, layer| layer.forward(tokens, scores, pass))
    }
}

/// What is added to the attention scores of every layer.
#[derive(Clone, Debug, Default)]
pub struct ScoreTerms {
    /// Of every key: 0, or negative infinity for padding, `[batch, tokens]`.
    pub mask: Option<Tensor<2>>,
    /// Of every pair of positions, `[heads, tokens, tokens]`.
    pub bias: Option<Tensor<3>>,
}

/// One layer: `h = norm(x + attention(x))`, then `norm(h + down(gelu(up(h))))`.
#[derive(Module, Debug)]
pub struct TransformerLayer {
    /// Queries, keys and values in one product.
    pub qkv: Dense,
    /// The attention's output.
    pub context: Dense,
    /// After the attention.
    pub attention_norm: LayerNorm,
    /// Into the feed-forward block.
    pub up: Dense,
    /// Out of it.
    pub down: Dense,
    /// After the feed-forward block.
    pub output_norm: LayerNorm,
    dropout: Dropout,
    attention_dropout: Dropout,
    heads: usize,
}

impl TransformerLayer {
    fn forward(&self, input: Tensor<3>, scores: &ScoreTerms, pass: &mut Pass) -> Tensor<3> {
        let qkv = self.qkv.forward(input.clone(), Activation::Identity, None);
        let [batch, tokens, _] = input.dims();
        let shape = [batch, self.heads, tokens, tokens];
        let dropout = self.attention_dropout.mask(shape, &input.device(), pass);
        let options = AttentionOptions {
            mask: scores.mask.clone(),
            bias: scores.bias.clone(),
            dropout: dropout.map(|mask| mask.expand(shape)),
        };
        let context = attention(qkv, self.heads, options);
        let hidden =
            self.add_and_normalize(&self.context, context, input, &self.attention_norm, pass);
        let inner = self.up.forward(hidden.clone(), Activation::Gelu, None);
        self.add_and_normalize(&self.down, inner, hidden, &self.output_norm, pass)
    }

    /// `norm(residual + dropout(layer(input)))`.
    fn add_and_normalize(
        &self,
        layer: &Dense,
        input: Tensor<3>,
        residual: Tensor<3>,
        norm: &LayerNorm,
        pass: &mut Pass,
    ) -> Tensor<3> {
        if self.dropout.is_active(pass) {
            let output = layer.forward(input, Activation::Identity, None);
            norm.forward(self.dropout.forward(output, pass), Some(residual))
        } else {
            norm.forward(layer.forward(input, Activation::Identity, Some(residual)), None)
        }
    }
}
