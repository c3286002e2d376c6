//! People's own data: tables read as rows of cells, tables written, and arrays.
//!
//! - [`Records`] streams a `.csv`, `.tsv`, `.jsonl`, `.ndjson` or `.parquet` file, also from
//!   standard input and gzip-compressed, in chunks of [`Row`]s. Memory stays flat however long the
//!   file is. A row that cannot be read is a [`Row::Bad`] with its reason, so that a prediction
//!   can report it and go on, while training uses [`Records::next_cells`] and stops at the first.
//! - [`Writer`] writes such tables. A file appears under its name only when it is complete.
//! - [`Arrays`] opens `.npy`, `.npz` and `.safetensors`, and [`Matrix`] gives their rows without
//!   reading the file into memory where that is possible.
//!
//! Everything wrong with a file is a [`RecordsError`] that names the file, the place and the way
//! out.

mod arrays;
mod cell;
mod columns;
mod delimited;
mod error;
mod format;
mod input;
mod json_lines;
mod parquet;
mod source;
#[cfg(test)]
mod testing;
mod write;

pub use arrays::{ArrayInfo, Arrays, ByteArray, DEFAULT_INFLATED_BYTES, Matrix};
pub use cell::{Cell, Chunk, Row};
pub use error::{RecordsError, Result};
pub use format::Format;
pub(crate) use parquet::first_invalid_row;
pub use source::Records;
pub use write::Writer;
