use std::io;
use std::path::PathBuf;

use sngp_records::RecordsError;
use sngp_records::image::PictureError;

/// The result of reading images.
pub type Result<T> = std::result::Result<T, ImageError>;

/// Why images could not be read.
///
/// Offsets count bytes from 0; in a compressed file they count uncompressed bytes. Causes are
/// part of the message and therefore not repeated as [`source`](std::error::Error::source).
///
/// ```
/// use sngp_lab::dataset::image::{Split, read_cifar10};
///
/// let error = read_cifar10("/nowhere", Split::Test).unwrap_err();
/// assert!(error.to_string().starts_with("cannot read /nowhere"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's message shows what its fields mean")]
pub enum ImageError {
    /// The file could not be opened or read.
    #[error("cannot read {path}: {cause}; check the path and its permissions")]
    Io { path: PathBuf, cause: io::Error },

    /// A folder or an archive without a file that belongs to the data set.
    #[error("{path} has no {file}; is it {expected}?")]
    MissingFile { path: PathBuf, file: String, expected: &'static str },

    /// The file ends too early.
    #[error(
        "{path}, byte offset {offset}: the file ends after {found} of the {needed} bytes of \
         {what}; fetch it again"
    )]
    Truncated { path: PathBuf, offset: u64, what: &'static str, needed: u64, found: u64 },

    /// The file is not of the format or the size it should be.
    #[error("{path}, byte offset {offset}: {found} where {expected} is needed")]
    Malformed { path: PathBuf, offset: u64, found: String, expected: String },

    /// A compressed file that does not decompress, or to more than we are ready to hold.
    #[error("{path}: cannot decompress after {offset} bytes: {cause}; fetch it again")]
    Compressed { path: PathBuf, offset: u64, cause: String },

    /// A label that stands for no class.
    #[error("{path}, byte offset {offset}: label {label} is none of the {classes} classes")]
    LabelOutOfRange { path: PathBuf, offset: u64, label: i64, classes: usize },

    /// The same in an array of labels.
    #[error("{path}, row {row}: label {label} is none of the {classes} classes")]
    LabelRow { path: PathBuf, row: usize, label: i64, classes: usize },

    /// Images and labels that do not belong together.
    #[error(
        "{image_path} holds {images} images but {label_path} {labels} labels; \
         give two files of the same split"
    )]
    UnequalCounts { image_path: PathBuf, images: usize, label_path: PathBuf, labels: usize },

    /// An array that could not be read.
    #[error(transparent)]
    Array(#[from] RecordsError),

    /// A corruption that the folder does not hold.
    #[error("{path} has no corruption {name:?}; it has {present:?}")]
    UnknownCorruption { path: PathBuf, name: String, present: Vec<String> },

    /// A file that is no readable PNG or JPEG image.
    #[error(transparent)]
    Picture(#[from] PictureError),

    /// A folder without what it should hold.
    #[error("{path} holds no {what}")]
    Empty { path: PathBuf, what: &'static str },

    /// A class folder that is none of the classes given.
    #[error("{path} is none of the {known} known classes; add it to the names or remove it")]
    UnknownClass { path: PathBuf, known: usize },

    /// Lists of paths and labels that do not belong together.
    #[error("{paths} paths but {labels} labels; give a label for each path")]
    UnequalLists { paths: usize, labels: usize },

    /// A label of a list that stands for no class.
    #[error("{path}: label {label} is none of the {classes} classes")]
    UnknownLabel { path: PathBuf, label: usize, classes: usize },

    /// Images of no size.
    #[error("images of side 0 hold nothing; ask for at least 1")]
    NoSide,
}
