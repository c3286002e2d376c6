//! Somebody else's ONNX network as a frozen encoder: texts or images in, a vector a row out.
//!
//! - [`Source`]: where the file is, and what lies beside it (tokenizer, pooling, preparation);
//! - [`File`]: the file as messages ([`proto`]), checked;
//! - `shapes`: how large every tensor becomes, before anything is computed;
//! - `published`: networks of images by their published weights, as such a graph;
//! - `features`: the tensor that describes an input, and the graph that ends there;
//! - `engine`: what computes it; [`Encoder`]: all of it together.
//!
//! [`hub`] finds encoders by their names on the Hugging Face hub; [`fetch`] gets any one file that is known
//! by its hash.
//!
//! An encoder is read from a file once ([`Encoder::open`]), and then saved with the model as a graph
//! that ends in its features ([`Encoder::bytes`], [`Encoder::load`]).
#![warn(missing_docs)]

mod encoder;
mod engine;
mod features;
mod fetch;
mod file;
pub mod hub;
mod inputs;
mod pixels;
mod processor;
#[allow(missing_docs, reason = "fields are called as in `onnx.proto`")]
pub mod proto;
mod published;
mod receive;
mod shapes;
mod source;
mod writer;

pub use encoder::{ENCODER, Encoder, TOKENIZER, Takes, Tokens, Wanted};
pub use features::FEATURES;
pub use fetch::{Expected, fetch};
pub use file::{File, is_standard};
pub use pixels::{Filter, Pixels, Resize};
pub use published::kinds as image_kinds;
pub use source::Source;
