#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;

/// What the rows of a chunk were before they became cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Original {
    /// The fields of a delimited file that stand for a missing value without being empty.
    Missing(Vec<MissingField>),
    /// The lines of JSON, one per row.
    Lines(Vec<String>),
    /// All rows and columns with their own types.
    #[cfg(feature = "parquet")]
    Batches(Vec<RecordBatch>),
}

/// A field such as `NA`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MissingField {
    /// The place within the chunk, from 0.
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) text: String,
}
