//! Readers for text classification data: CLINC OOS, SNIPS, and tables with a text and a label
//! column (CSV, TSV, JSON Lines, Parquet).
//!
//! Nothing is trimmed, lower-cased or dropped: an empty text is a valid input and stays in the
//! set. What cannot be read in full is refused with a [`DatasetError`] that names the place.

mod clinc;
mod error;
mod json;
mod snips;
mod table;
#[cfg(test)]
pub(crate) mod testing;
mod text_set;

pub use clinc::Clinc;
pub use error::{DatasetError, Result};
pub use snips::read_snips;
pub use table::{read_table, read_texts};
pub use text_set::TextSet;
