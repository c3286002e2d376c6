//! Sentences: tokenizers, padded batches, pretrained encoders, and models that take text.
//!
//! A Hugging Face folder is read by [`PretrainedEncoder`]; [`Sentences`] makes batches for its
//! [`Bert`](crate::backbone::Bert); a fitted one with its tokenizer is a [`TextModel`].

mod batch;
mod model;
mod pretrained;
mod sentences;
mod tokenizer;

pub use batch::TokenBatch;
pub use model::TextModel;
pub use pretrained::{EncoderOptions, PretrainedEncoder, SentenceRecipe};
pub use sentences::Sentences;
pub use tokenizer::TextTokenizer;
