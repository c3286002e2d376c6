//! PNG and JPEG files.
//!
//! ```
//! use sngp_records::image::Picture;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("a.png");
//! image::GrayImage::from_pixel(40, 30, image::Luma([50])).save(&path)?;
//!
//! let picture = Picture::read(&path)?;
//! assert_eq!((picture.width(), picture.height()), (40, 30));
//! assert_eq!(picture.square(2), [50; 3 * 2 * 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod jpeg;
mod picture;

pub use error::{PictureError, Result};
pub use picture::Picture;
