//! Readers for image classification data: CIFAR-10 and CIFAR-100 (binary version), CIFAR-C,
//! SVHN, MNIST-like `idx` files, and folders or lists of PNG and JPEG files.
//!
//! All give the same [`Images`]: bytes in `[n, channels, height, width]` order, a label an image,
//! and the names of the classes. Nothing is normalized, shuffled or dropped. What cannot be read
//! in full is refused with an [`ImageError`] that names the file and the byte or row.
//!
//! ```no_run
//! use sngp_lab::dataset::image::{Split, read_cifar10};
//!
//! let test = read_cifar10("cifar-10-binary.tar.gz", Split::Test)?;
//! assert_eq!((test.len(), test.channels, test.height, test.width), (10_000, 3, 32, 32));
//! # Ok::<(), sngp_lab::dataset::image::ImageError>(())
//! ```

mod bytes;
mod cifar;
mod cifar_c;
mod error;
mod files;
mod idx;
mod images;
mod inputs;
mod mat;
mod source;
mod svhn;
#[cfg(test)]
mod testing;

pub use cifar::{Cifar100Labels, Split, read_cifar10, read_cifar100};
pub use cifar_c::CifarC;
pub use error::{ImageError, Result};
pub use files::{read_image_files, read_image_folder};
pub use idx::{DIGITS, FASHION, read_idx, read_mnist};
pub use images::Images;
pub use inputs::{ImageInputs, channel_moments};
pub use svhn::read_svhn;
