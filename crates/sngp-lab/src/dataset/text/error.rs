use std::fmt;
use std::io;
use std::path::PathBuf;

/// The result of reading a data set.
pub type Result<T> = std::result::Result<T, DatasetError>;

/// Where in a file something is wrong, counted from 1.
///
/// ```
/// use sngp_lab::dataset::text::Place;
///
/// assert_eq!(Place::Row(3).to_string(), "row 3");
/// assert_eq!(Place::Line(4).to_string(), "line 4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A data row: the header is not counted, and a row may span several lines.
    Row(usize),
    /// A line of the file: the header and blank lines are counted.
    Line(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(row) => write!(formatter, "row {row}"),
            Self::Line(line) => write!(formatter, "line {line}"),
        }
    }
}

/// Why a data set could not be read.
///
/// "row" always means a data row and "line" a line of the file, see [`Place`]; both start at 1.
/// Causes are part of the message and therefore not repeated as
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's message shows what its fields mean")]
pub enum DatasetError {
    /// The file could not be opened or read.
    #[error("cannot read {path}: {cause}; check the path and its permissions")]
    Io { path: PathBuf, cause: io::Error },

    /// The file name does not say which format it holds.
    #[error("{path}: unknown extension; use one of {known}")]
    UnknownExtension { path: PathBuf, known: String },

    /// The file holds no data.
    #[error("{path} holds no rows; give a file with at least one")]
    Empty { path: PathBuf },

    /// Bytes that are not UTF-8. `byte` counts from 0; Parquet has none to offer.
    #[error("{path}, {place}{}: not valid UTF-8; convert the file to UTF-8", at_byte(.byte))]
    InvalidUtf8 { path: PathBuf, place: Place, byte: Option<usize> },

    /// The table has no such column.
    #[error("{path} has no column {column:?}; its columns are {present:?}")]
    MissingColumn { path: PathBuf, column: String, present: Vec<String> },

    /// Several columns carry the name asked for.
    #[error("{path} has {count} columns named {column:?}; rename all but one")]
    RepeatedColumn { path: PathBuf, column: String, count: usize },

    /// A CSV or TSV row with more or fewer fields than the header.
    #[error(
        "{path}, line {line}: {found} fields where the header has {expected}; \
         quote fields that contain the delimiter"
    )]
    RaggedRow { path: PathBuf, line: usize, expected: usize, found: usize },

    /// A quoted CSV or TSV field that never ends, or goes on after its closing quote.
    #[error(
        "{path}, line {line}: the quoted field in column {column} that starts here is not closed \
         properly; write a quote inside a quoted field twice, and quote a field that starts with one"
    )]
    BrokenQuote { path: PathBuf, line: usize, column: usize },

    /// Text that is not JSON. `column` counts bytes within the line.
    #[error("{path}, line {line}, column {column}: not valid JSON: {cause}; repair or remove it")]
    Json { path: PathBuf, line: usize, column: usize, cause: String },

    /// JSON of another kind where an object is needed.
    #[error("{path}, line {line}: {found} where an object {{...}} is needed")]
    NotAnObject { path: PathBuf, line: usize, found: &'static str },

    /// A JSON Lines object without the key asked for.
    #[error("{path}, line {line}: no key {key:?}; the keys of this line are {present:?}")]
    MissingKey { path: PathBuf, line: usize, key: String, present: Vec<String> },

    /// A missing value.
    #[error("{path}, {place}: {column:?} is null; fill it in or remove the row")]
    Null { path: PathBuf, place: Place, column: String },

    /// A single value of a kind that cannot be used.
    #[error("{path}, {place}: {column:?} is {found} but must be {expected}")]
    WrongType {
        path: PathBuf,
        place: Place,
        column: String,
        found: &'static str,
        expected: &'static str,
    },

    /// A Parquet column of a type that cannot be used.
    #[error("{path}: column {column:?} has type {found} but must hold {expected}; convert it")]
    ColumnType { path: PathBuf, column: String, found: String, expected: &'static str },

    /// A damaged, truncated or unsupported Parquet file. `row` is the first one not read.
    #[error(
        "{path}: cannot read Parquet from row {row} on: {cause}; fetch or write the file again"
    )]
    Parquet { path: PathBuf, row: usize, cause: String },

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

fn at_byte(byte: &Option<usize>) -> String {
    byte.map(|byte| format!(", byte offset {byte}")).unwrap_or_default()
}

fn at_item(position: &Option<usize>) -> String {
    position.map(|position| format!(", item {position}")).unwrap_or_default()
}
