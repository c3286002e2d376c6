//! Images that are changed while they are learned from, anew every time: shifted, mirrored, cut out and
//! mixed. A network that has seen an image so has seen more than one.
//!
//! ```
//! use sngp::augment::{Augmentation, Border};
//! use sngp::seed::{Purpose, stream};
//!
//! let usual =
//!     Augmentation { padding: 4, border: Border::Reflect, flip: true, ..Default::default() };
//! let (image, mut pixels) = ([200; 3 * 32 * 32], Vec::new());
//! usual.append(&image, [32, 32], &mut stream(0, Purpose::Augmentation, 0), &mut pixels);
//! assert_eq!(pixels, [200.0 / 255.0; 3 * 32 * 32]);
//! ```

mod augmentation;
mod augmix;

pub use augmentation::{Augmentation, Border};
pub use augmix::AugMix;
