use std::fs::File;
use std::path::Path;

use crate::cell::Row;
use crate::delimited::Delimited;
use crate::error::Result;
use crate::format::Format;
use crate::input::Input;
use crate::json_lines::JsonLines;
use crate::lines::Lines;
use crate::options::ReadOptions;
use crate::original::Original;

/// What every format gives: named columns and one row after another.
pub(super) trait Source: Send {
    fn columns(&self) -> &[String];

    fn next_row(&mut self) -> Result<Option<Row>>;

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The type of a column whose values cannot become cells.
    fn unreadable(&self, _column: usize) -> Option<&str> {
        None
    }

    /// What the rows were that were handed out since it was last asked for, where it is kept.
    fn take_original(&mut self) -> Option<Original> {
        None
    }
}

/// A table of text. The format is one of those that are.
pub(super) fn text_source(
    format: Format,
    input: Input,
    options: &ReadOptions,
) -> Result<Box<dyn Source>> {
    match format {
        Format::JsonLines => Ok(Box::new(JsonLines::open(input, options.keep_originals)?)),
        Format::Lines => Ok(Box::new(Lines::open(input, &options.header)?)),
        other => Ok(Box::new(Delimited::open(input, other == Format::Tsv, options)?)),
    }
}

/// A table in a Parquet file, which is opened only if this build reads any.
#[cfg(feature = "parquet")]
pub(super) fn parquet_source(
    path: &Path,
    file: impl FnOnce() -> Result<File>,
    options: &ReadOptions,
) -> Result<Box<dyn Source>> {
    Ok(Box::new(crate::parquet::Parquet::open(path, file()?, options.keep_originals)?))
}

#[cfg(not(feature = "parquet"))]
pub(super) fn parquet_source(
    path: &Path,
    _: impl FnOnce() -> Result<File>,
    _: &ReadOptions,
) -> Result<Box<dyn Source>> {
    Err(crate::error::RecordsError::without_parquet(path))
}
