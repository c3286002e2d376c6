//! Sentences: intent classifiers that know what is none of their business.
//!
//! [`TextExperiment`] says what is trained on what, [`Setup`] reads data and encoder, and
//! [`Bench::run`] trains what is missing, tunes it on held-out data and measures it.

mod document;
mod embeddings;
mod evaluate;
mod experiment;
mod run;
mod setup;
mod task;

pub use document::document;
pub use experiment::{BUILT_IN, DataConfig, EncoderSettings, TextExperiment, Trained};
pub use run::Bench;
pub use setup::Setup;
pub use task::{Task, TextTask};
