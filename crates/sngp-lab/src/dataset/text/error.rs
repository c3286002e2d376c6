use std::io;
use std::path::PathBuf;

use sngp_records::RecordsError;

/// The result of reading a data set.
pub type Result<T> = std::result::Result<T, DatasetError>;

/// Why a data set could not be read.
///
/// "row" always means a data row and "line" a line of the file; both start at 1. Causes are part
/// of the message and therefore not repeated as [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's message shows what its fields mean")]
pub enum DatasetError {
    /// A table or a file of lines that could not be read.
    #[error(transparent)]
    Records(#[from] RecordsError),

    /// A row without a label.
    #[error("{path}, row {row}: {column:?} is missing; fill it in or remove the row")]
    MissingLabel { path: PathBuf, row: usize, column: String },

    /// The file could not be opened or read.
    #[error("cannot read {path}: {cause}; check the path and its permissions")]
    Io { path: PathBuf, cause: io::Error },

    /// Text that is not JSON. `column` counts bytes within the line.
    #[error("{path}, line {line}, column {column}: not valid JSON: {cause}; repair or remove it")]
    Json { path: PathBuf, line: usize, column: usize, cause: String },

    /// JSON of another kind where an object is needed.
    #[error("{path}: {found} where an object {{...}} is needed")]
    NotAnObject { path: PathBuf, found: &'static str },

    /// Label and text files that do not belong together.
    #[error(
        "{label_path} has {labels} lines but {text_path} has {texts}; \
         give two files of the same split"
    )]
    UnequalLines { label_path: PathBuf, labels: usize, text_path: PathBuf, texts: usize },

    /// A CLINC file without one of its six lists.
    #[error("{path} has no key {key:?}; its keys are {present:?}, is it a CLINC OOS file?")]
    ClincKey { path: PathBuf, key: &'static str, present: Vec<String> },

    /// A CLINC list, or the item at `position` (from 1) of it, of the wrong shape.
    #[error("{path}, key {key:?}{}: {found} where {expected} is needed", at_item(.position))]
    ClincShape {
        path: PathBuf,
        key: &'static str,
        position: Option<usize>,
        found: String,
        expected: &'static str,
    },

    /// A label outside the names given.
    #[error(
        "row {row}: label {label:?} is none of the {known} known labels; \
         add it to the names or remove the row"
    )]
    UnknownLabel { row: usize, label: String, known: usize },
}

fn at_item(position: &Option<usize>) -> String {
    position.map(|position| format!(", item {position}")).unwrap_or_default()
}
