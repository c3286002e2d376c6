use std::io;
use std::path::PathBuf;

/// The result of reading or writing records and arrays.
pub type Result<T> = std::result::Result<T, RecordsError>;

/// Why records or arrays could not be read or written.
///
/// "row" always means a data row (the header is not counted) and "line" a line of the file; rows,
/// lines and columns start at 1, byte offsets at 0. Causes are part of the message and therefore
/// not repeated as [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's message shows what its fields mean")]
pub enum RecordsError {
    /// The file could not be opened or read.
    #[error("cannot read {path}: {cause}; check the path and its permissions")]
    Io { path: PathBuf, cause: io::Error },

    /// The object could not be fetched.
    #[error("cannot fetch {path}: {cause}; check the address, the credentials and the endpoint")]
    Remote { path: PathBuf, cause: String },

    /// The file name does not say which format it holds.
    #[error("{path}: unknown extension; use one of {known}, or name the format")]
    UnknownExtension { path: PathBuf, known: &'static str },

    /// No format of this name.
    #[error("{name:?} is no format; use one of {known}")]
    UnknownFormat { name: String, known: &'static str },

    /// Nothing at all in the file.
    #[error("{path} is empty; give a file with named columns and at least one row")]
    Empty { path: PathBuf },

    /// Columns but no rows.
    #[error("{path} has columns but no rows; give a file with at least one row")]
    NoRows { path: PathBuf },

    /// Rows but no columns, such as JSON Lines of empty objects.
    #[error("{path} has no columns; give a file with at least one")]
    NoColumns { path: PathBuf },

    /// The first row of a CSV or TSV file holds data.
    #[error(
        "{path}: the first row holds numbers only ({first}), so the header seems to be missing; \
         add a first row with the names of the columns"
    )]
    HeaderMissing { path: PathBuf, first: String },

    /// A format that was left out when the program was built.
    #[error(
        "{path}: this build does not read or write {format}; build it with the feature {feature:?}"
    )]
    NotBuilt { path: PathBuf, format: &'static str, feature: &'static str },

    /// No column of this name.
    #[error("{path} has no column {column:?}; its columns are {present}")]
    MissingColumn { path: PathBuf, column: String, present: String },

    /// A column whose values cannot become cells.
    #[error(
        "{path}: column {column:?} has the unsupported type {found}; convert it to numbers, \
         booleans, strings or lists of numbers"
    )]
    UnreadableColumn { path: PathBuf, column: String, found: String },

    /// A column whose name is empty.
    #[error(
        "{path}: column {column} has no name; name it or remove it \
         (pandas writes such an index column unless told index=False)"
    )]
    UnnamedColumn { path: PathBuf, column: usize },

    /// Several columns of one name.
    #[error("{path} has several columns named {column:?}; rename all but one")]
    RepeatedColumn { path: PathBuf, column: String },

    /// More columns than can be meant.
    #[error(
        "{path} has more than {limit} columns; give wide data as .npy, .npz or .safetensors, \
         and check that the rows are not on one line"
    )]
    TooManyColumns { path: PathBuf, limit: usize },

    /// A TSV file without tabs whose lines another delimiter splits evenly.
    #[error("{path} has no tabs but looks delimited by {delimiter:?}; read it as CSV")]
    WrongDelimiter { path: PathBuf, delimiter: char },

    /// A header that is not UTF-8.
    #[error("{path}, line {line}: the header is not valid UTF-8; convert the file to UTF-8")]
    HeaderUtf8 { path: PathBuf, line: usize },

    /// A quoted CSV or TSV field that never ends, or goes on after its closing quote.
    #[error(
        "{path}, line {line}: the quoted field in column {column} that starts here is not closed \
         properly; write a quote inside a quoted field twice, and quote a field that starts with one"
    )]
    BrokenQuote { path: PathBuf, line: usize, column: usize },

    /// A row too long to be one.
    #[error("{path}, line {line}: the row that starts here is longer than {limit} bytes; check it")]
    RowTooLong { path: PathBuf, line: usize, limit: usize },

    /// A damaged or truncated gzip file.
    #[error("{path}: cannot uncompress from row {row} on: {cause}; fetch or write the file again")]
    Gzip { path: PathBuf, row: usize, cause: io::Error },

    /// A damaged, truncated or unsupported Parquet file. `row` is the first one not read.
    #[error(
        "{path}: cannot read Parquet from row {row} on: {cause}; fetch or write the file again"
    )]
    Parquet { path: PathBuf, row: usize, cause: String },

    /// Record batches in memory that end in an error or contradict their schema.
    #[error("{path}: cannot take record batches from row {row} on: {cause}")]
    Batches { path: PathBuf, row: usize, cause: String },

    /// A row that cannot be read, where all have to be.
    #[error("{path}, row {row}: {reason}")]
    BadRow { path: PathBuf, row: usize, reason: String },

    /// The file could not be written.
    #[error("cannot write {path}: {cause}; check the path, its permissions and the free space")]
    Write { path: PathBuf, cause: io::Error },

    /// A name that cannot be written to.
    #[error("cannot write {path}: {reason}")]
    Unwritable { path: PathBuf, reason: &'static str },

    /// A row to write with more or fewer cells than there are columns.
    #[error("{path}, row {row}: {found} cells where there are {expected} columns")]
    RowLength { path: PathBuf, row: usize, expected: usize, found: usize },

    /// A cell that does not go with the type the first batch gave its Parquet column.
    #[error(
        "{path}, row {row}: {column:?} is {found} but the first rows made it a column of \
         {expected}; write CSV or JSON Lines, or one kind per column"
    )]
    CellKind {
        path: PathBuf,
        row: usize,
        column: String,
        found: &'static str,
        expected: &'static str,
    },

    /// A container that is damaged, truncated or something else.
    #[error("{path} is not a readable {kind} file: {cause}; fetch or write it again")]
    ArrayFile { path: PathBuf, kind: &'static str, cause: String },

    /// No array of this name.
    #[error("{path} has no array {name:?}; its arrays are {present:?}")]
    MissingArray { path: PathBuf, name: String, present: Vec<String> },

    /// An array that contradicts itself. `offset` counts bytes within the array's own `.npy` part.
    #[error("{path}, array {name:?}, byte offset {offset}: {cause}; write the file again")]
    DamagedArray { path: PathBuf, name: String, offset: u64, cause: String },

    /// A sound array of a kind that cannot be used.
    #[error("{path}, array {name:?}: {found}; {way_out}")]
    UnusableArray { path: PathBuf, name: String, found: String, way_out: &'static str },

    /// A compressed array that would not fit.
    #[error(
        "{path}, array {name:?} takes {declared} bytes uncompressed, above the limit of {limit}; \
         save it uncompressed (numpy.save, numpy.savez) or raise the limit"
    )]
    ArrayTooLarge { path: PathBuf, name: String, declared: u64, limit: u64 },

    /// An infinite or undefined number.
    #[error(
        "{path}, array {name:?}, row {row}, column {column}: {value} is not a finite number (as \
         32-bit float); replace it or remove the row"
    )]
    NotFinite { path: PathBuf, name: String, row: usize, column: usize, value: f32 },

    /// A label that is not what was asked for.
    #[error("{path}, array {name:?}, row {row}: {found} where {expected} is needed")]
    BadLabel { path: PathBuf, name: String, row: usize, found: String, expected: &'static str },
}

#[cfg(not(feature = "parquet"))]
impl RecordsError {
    pub(crate) fn without_parquet(path: &std::path::Path) -> Self {
        Self::NotBuilt { path: path.to_owned(), format: "Parquet", feature: "parquet" }
    }
}
