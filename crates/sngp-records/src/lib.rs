//! People's own data: tables, arrays and images, read and written.
//!
//! - [`Records`] streams a `.csv`, `.tsv`, `.jsonl`, `.ndjson` or `.parquet` file, also from
//!   standard input and gzip-compressed, in chunks of [`Row`]s. Memory stays flat however long or
//!   wide the file is. A row that cannot be read is a [`Row::Bad`] with its reason, so that a
//!   prediction can report it and go on, while training uses [`Records::next_cells`] and stops at
//!   the first. [`ReadOptions`] are for tables without a header and for plain lines of text.
//! - [`Writer`] writes such tables, also beside the rows of another: [`Writer::write_beside`].
//! - [`Arrays`] opens `.npy`, `.npz` and `.safetensors`, and [`Matrix`] gives their rows without
//!   reading the file into memory where that is possible.
//! - [`image`] decodes PNG and JPEG.
//! - [`files`] writes files and folders that are whole or not there. All else here goes by it.
//!
//! Everything wrong with a file is a [`RecordsError`] that names the file, the place and the way
//! out.
//!
//! # Features
//!
//! On by default: `parquet` (also Arrow record batches), `arrays` and `images`. Without them there
//! are files, cells and tables of text. With `remote` an address in object storage
//! (`s3://BUCKET/KEY`, [`is_address`]) may stand where a file may.

mod address;
#[cfg(feature = "arrays")]
mod arrays;
mod cell;
mod columns;
mod delimited;
mod error;
pub mod files;
mod format;
#[cfg(feature = "images")]
pub mod image;
mod input;
mod json_lines;
mod lines;
mod memory;
mod options;
mod original;
#[cfg(feature = "parquet")]
mod parquet;
mod records;
#[cfg(feature = "remote")]
mod remote;
mod source;
#[cfg(test)]
mod testing;
mod write;

pub use address::is_address;
#[cfg(feature = "arrays")]
pub use arrays::{ArrayInfo, Arrays, ByteArray, DEFAULT_INFLATED_BYTES, Matrix};
pub use cell::{Cell, Chunk, MISSING, Row};
pub use error::{RecordsError, Result};
pub use format::Format;
pub use options::{Header, ReadOptions};
pub use records::Records;
pub use write::Writer;
