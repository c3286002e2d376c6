#![warn(missing_docs)]
pub mod backbone;
pub mod data;
mod error;
pub mod exact_gp;
mod files;
mod host;
pub mod likelihood;
mod linalg;
pub mod method;
pub mod metrics;
pub mod model;
mod network;
pub mod nn;
mod pass;
pub mod posterior;
pub mod predict;
pub mod registry;
pub mod score;
pub mod seed;
pub mod spectral;
pub mod train;

pub use error::{Error, Result};
pub use network::{Network, NetworkPlan};
pub use pass::{Mode, Pass};
