use std::io;
use std::path::PathBuf;

/// The result of reading a picture.
pub type Result<T> = std::result::Result<T, PictureError>;

/// Why a picture could not be read.
///
/// Causes are part of the message and therefore not repeated as
/// [`source`](std::error::Error::source). Bytes without a file are called `the picture`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's message shows what its fields mean")]
pub enum PictureError {
    /// The file could not be opened or read.
    #[error("cannot read {path}: {cause}; check the path and its permissions")]
    Io { path: PathBuf, cause: io::Error },

    /// A folder, a named pipe or a device.
    #[error("{path} is no regular file; give the path of a PNG or JPEG file")]
    NotAFile { path: PathBuf },

    /// An image in a format that is not read.
    #[error("{path} is an image in the format {format}; convert it to PNG or JPEG")]
    Unsupported { path: PathBuf, format: String },

    /// Not an image, or a damaged one.
    #[error("{path} is no usable image: {cause}; repair or remove it")]
    Undecodable { path: PathBuf, cause: String },

    /// An image that would take too much memory.
    #[error(
        "{path} is {width} x {height} pixels, more than {side} a side or {pixels} in all; shrink it"
    )]
    TooLarge { path: PathBuf, width: u32, height: u32, side: u32, pixels: u64 },
}
