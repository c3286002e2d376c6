//! The model server: model folders in, answers with their uncertainty out, over HTTP and gRPC.
//!
//! A request goes through here from top to bottom:
//!
//! - [`listen`](Server): connections, their limits, TLS, and the end of all of them;
//! - `http` and `grpc`: the Open Inference Protocol, and `/v1/predict` for people; both give the
//!   same [`ServeError`]s, which know their codes;
//! - [`protocol`]: bytes to tensors and back;
//! - [`rows`]: tensors to rows, by the model's signature;
//! - [`batching`]: a bounded queue of rows, and the thread that answers it in batches;
//! - [`model`]: what a model is to the server. It holds no model logic: everything that is
//!   answered, is answered by [`sngp_pipeline::Pipeline`];
//! - [`ops`]: metrics, drift, logs, the key, certificates.
//!
//! ```no_run
//! use burn::tensor::Device;
//! use sngp_serve::{Server, Settings, model::pipelines};
//!
//! let folders = [("intents".to_string(), "intents-model".into())];
//! let server = Server::load(&folders, pipelines(Device::flex()), Settings::default())?;
//! server.run()?; // until SIGTERM
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]

mod admission;
pub mod batching;
mod error;
mod grpc;
mod http;
mod listen;
pub mod loadtest;
pub mod model;
pub mod ops;
pub mod outputs;
pub mod protocol;
pub mod rows;
mod server;
mod settings;
mod signals;

pub use error::{Result, ServeError};
pub use grpc::parse_infer_message;
pub use http::openapi;
pub use server::{Running, Server};
pub use settings::Settings;
