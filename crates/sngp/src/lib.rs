//! Deep classifiers that know what they don't know.
//!
//! A deep classifier is confident about inputs that look like nothing it was trained on. SNGP
//! (Liu et al., NeurIPS 2020) mends that with one network and one pass: keep the hidden mapping
//! distance-preserving, and put a Gaussian process on top whose variance grows with the distance
//! from the training data.
//!
//! ```
//! use burn::tensor::Device;
//! use ndarray::array;
//! use sngp::prelude::*;
//!
//! # fn main() -> sngp::Result<()> {
//! let inputs = Table::new(array![[-1.0, 0.0], [-0.9, 0.1], [1.0, 0.0], [0.9, -0.1]].view())?;
//! let data = Labelled::new(inputs, Targets::classes(vec![0, 0, 1, 1], 2)?)?;
//! let mut config = ModelConfig::new(Sngp {});
//! # config.training.epochs = 2;
//! config.posterior.curvature = Some(Curvature::Gaussian);
//! let estimator = Estimator::<ResFfn>::new(config, ResFfnConfig::default());
//! let model = estimator.fit(&data, FitOptions::new(&Device::flex()))?;
//! let prediction = model.predict(&Table::new(array![[1.0, 0.0], [50.0, 50.0]].view())?)?;
//! let uncertainty = Variance {}.evaluate(&prediction)?;
//! assert!(uncertainty[1] > uncertainty[0]); // far away: it does not know
//! # Ok(())
//! # }
//! ```
//!
//! # The pipeline, top to bottom
//!
//! 1. [`data`]: examples on the host become batches on a device.
//! 2. [`backbone`]: a batch becomes hidden vectors. Any Burn module can be one.
//! 3. [`spectral`]: after each optimiser step, the norms of its residual layers are bounded.
//! 4. [`nn`]: the head turns hidden vectors into logits, for SNGP through random Fourier features.
//! 5. [`likelihood`]: what the logits mean, and so what is minimised.
//! 6. [`method`]: which of these parts a method uses. [`model::ModelConfig`] has the options.
//! 7. [`train`]: burn-train runs it, seeded, resumable, stoppable; where only the output layer is
//!    to be fitted, [`convex`] solves for it.
//! 8. [`posterior`]: one pass over the training data gives the variance of the logits.
//! 9. [`predict`]: mean and variance become a predictive distribution.
//! 10. [`score`] and [`metrics`]: how uncertain it is, and how well that works.
//! 11. [`model`]: all of it as one fitted model, saved as a folder that verifies itself.
//!
//! [`augment`] changes images while they are learned from. [`text`] has what sentences need: pretrained encoders, their tokenizers, models that take text.
//! [`weights`] reads networks that others trained, by a declared mapping of their names.
//! [`exact_gp`] is the reference that all of this approximates, for small data.
//!
//! Nothing is trained or changed behind the caller's back: an [`model::Estimator`] is unfitted, a
//! [`model::Model`] is fitted, and prediction changes neither.
#![warn(missing_docs)]

pub mod augment;
pub mod backbone;
pub mod convex;
pub mod data;
pub mod detect;
mod error;
pub mod exact_gp;
pub mod files;
pub mod hash;
mod host;
pub mod likelihood;
mod linalg;
pub mod memory;
pub mod method;
pub mod metrics;
pub mod model;
mod module_path;
mod network;
pub mod nn;
mod pass;
pub mod posterior;
pub mod predict;
pub mod prelude;
pub mod registry;
pub mod score;
pub mod seed;
pub mod spectral;
pub mod text;
pub mod train;
pub mod weights;

pub use error::{Error, Result};
pub use network::{Network, NetworkPlan};
pub use pass::{Mode, Pass};

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
