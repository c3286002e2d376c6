//! Text encoders of BERT's family.

mod config;
mod encoder;
mod pooler;
mod relative_position;

pub use config::{BertConfig, EncoderConfig, Pooling};
pub use encoder::TextEncoder;
pub use pooler::{Pooler, PoolerActivation, PoolerConfig};
pub use relative_position::relative_buckets;

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::{Backbone, InputShape};
use crate::spectral::{SpectralLayer, SpectralLayers};
use crate::text::TokenBatch;
use crate::{Error, Pass, Result};

/// An encoder of BERT's family, its tokens pooled to one vector, and a pooler layer: the one layer
/// that spectral normalization bounds. Attention and feed-forward weights are left alone, since
/// bounding them costs what pretraining taught them.
///
/// ```
/// use burn::tensor::Device;
/// use sngp::Pass;
/// use sngp::backbone::{Backbone, Bert, BertConfig};
/// use sngp::text::TokenBatch;
///
/// let device = Device::flex();
/// let config = BertConfig::small(50, 16);
/// let network = Bert::build(&config, &device)?;
/// let batch = TokenBatch::new(&[&[1, 7, 9, 2], &[1, 2]], 16, &device);
/// assert_eq!(network.forward(batch, &mut Pass::evaluate()).dims(), [2, 16]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct Bert {
    /// From tokens to one vector a sentence.
    pub encoder: TextEncoder,
    /// The layer on top.
    pub pooler: Pooler,
}

impl SpectralLayers for Bert {
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        self.pooler.layer("pooler.dense")
    }
}

impl Backbone for Bert {
    const NAME: &'static str = "bert";
    type Config = BertConfig;
    type Batch = TokenBatch;

    fn build(config: &BertConfig, device: &Device) -> Result<Self> {
        config.check()?;
        Ok(Self {
            encoder: TextEncoder::new(&config.encoder, config.pooling, device)?,
            pooler: Pooler::build(&config.pooler, device)?,
        })
    }

    fn forward(&self, batch: TokenBatch, pass: &mut Pass) -> Tensor<2> {
        let pooled = self.encoder.forward(batch, pass);
        self.pooler.forward(pooled, pass)
    }

    fn width(config: &BertConfig) -> usize {
        config.pooler.width
    }

    fn check(config: &BertConfig, batch: &TokenBatch) -> Result<()> {
        let encoder = &config.encoder;
        let (id, tokens) = (batch.largest_id() as usize, batch.ids().dims()[1]);
        if id >= encoder.vocabulary {
            let message = format!(
                "token {id} is not in the encoder's vocabulary of {}; is the tokenizer its own?",
                encoder.vocabulary
            );
            return Err(Error::Data(message));
        }
        if tokens == 0 || tokens > encoder.longest() {
            let expected = format!("1 to {}", encoder.longest());
            return Err(Error::shape("tokens of a sentence", expected, tokens));
        }
        if batch.width() != encoder.transformer.width {
            return Err(Error::shape(
                "width of a token's vector",
                encoder.transformer.width,
                batch.width(),
            ));
        }
        Ok(())
    }

    fn batch_of_tokens(_config: &BertConfig, tokens: TokenBatch) -> Option<TokenBatch> {
        Some(tokens)
    }

    fn input(config: &BertConfig) -> InputShape {
        InputShape::Sentences {
            max_tokens: config.max_tokens,
            vocabulary: config.encoder.vocabulary,
            token_width: config.encoder.transformer.width,
        }
    }

    /// Embeddings, then the layers; what is not named belongs to the top.
    fn depths(&self) -> Vec<String> {
        let layers = 0..self.encoder.layers();
        std::iter::once("encoder.embeddings.".to_string())
            .chain(layers.map(|index| format!("encoder.transformer.layers.{index}.")))
            .collect()
    }
}
