//! Corruptions of images in five severities, to measure how a model copes with shifted data
//! without downloading any.
//!
//! The kinds, their strengths and their steps are those of CIFAR-10-C (Hendrycks & Dietterich
//! 2019, arXiv:1903.12261, and its published generator, which was read for the parameters); the
//! code is our own. The water of `spatter` is simplified, and `frost` is left out, as it needs
//! photographs. Lengths were chosen for images of 32 pixels and grow with the shorter side of
//! larger ones, so that a corruption covers the same part of the picture.
//!
//! An image's noise depends on the seed, the corruption, the severity and the image's index
//! alone, so subsets and thread counts do not change it.
//!
//! ```
//! use sngp_lab::corruption::{Corruption, Severity};
//!
//! let image = [128; 3 * 32 * 32];
//! for corruption in Corruption::ALL {
//!     for severity in Severity::ALL {
//!         let mut rng = corruption.rng(1, severity, 0);
//!         let corrupted = corruption.apply(&image, 32, 32, severity, &mut rng)?;
//!         assert_eq!(corrupted.len(), image.len());
//!     }
//! }
//! # Ok::<(), sngp_lab::corruption::CorruptionError>(())
//! ```

mod blur;
mod digital;
mod error;
mod noise;
mod picture;
mod plane;
mod registry;
mod set;
mod severity;
#[cfg(test)]
mod testing;
mod weather;

pub use error::{CorruptionError, Result};
pub use picture::Picture;
pub use plane::{Border, Plane, Tap};
pub use registry::{Corruption, Distortion, Family};
pub use severity::Severity;

/// The generator behind every corruption.
pub type Rng = rand_chacha::ChaCha8Rng;
