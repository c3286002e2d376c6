mod batches;
mod cells;
mod invalid_utf8;
mod pages;
mod rows;
mod thrift;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ParquetMetaData;

use crate::cell::Row;
use crate::columns::check_names;
use crate::error::{RecordsError, Result};
use crate::original::Original;
use crate::source::Source;
pub(crate) use batches::Batches;
use cells::Kind;
use invalid_utf8::first_invalid_row;
use rows::BatchRows;

type Builder = ParquetRecordBatchReaderBuilder<File>;

/// Cells decoded at a time, so that wide tables take no more memory than narrow ones.
const BATCH_CELLS: usize = 1 << 18;
/// Bytes decoded at a time, as far as the file tells beforehand.
const BATCH_BYTES: usize = 32 << 20;
const MAX_BATCH_ROWS: usize = 1024;

const CONTRADICTION: &str = "the file contradicts itself";

/// A Parquet file.
pub(super) struct Parquet {
    path: PathBuf,
    file: File,
    reader: ParquetRecordBatchReader,
    rows: BatchRows,
    /// For every column the first of Parquet's own columns that it consists of.
    leaves: Vec<usize>,
    rows_read: usize,
}

impl Parquet {
    pub(super) fn open(path: &Path, file: File, keep_originals: bool) -> Result<Self> {
        guarded(path, 1, || Self::open_unguarded(path, file, keep_originals))
    }

    fn open_unguarded(path: &Path, file: File, keep_originals: bool) -> Result<Self> {
        pages::check_footer(&file).map_err(|reason| damaged(path, 1, reason))?;
        let copy = file.try_clone();
        let copy = copy.map_err(|cause| RecordsError::Io { path: path.to_owned(), cause })?;
        // An embedded Arrow schema can declare bytes to be strings, and those are then not checked
        // to be UTF-8. Parquet's own types lose nothing that matters here.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = Builder::try_new_with_options(copy, options)
            .map_err(|error| damaged(path, 1, error))?;
        let schema = builder.schema().clone();
        let kinds = cells::kinds(&schema, builder.parquet_schema(), keep_originals);
        let rows = BatchRows::new(&schema, kinds, keep_originals);
        check_names(path, &rows.columns)?;
        if builder.metadata().file_metadata().num_rows() == 0 {
            return Err(RecordsError::NoRows { path: path.to_owned() });
        }
        let used = (0..rows.kinds.len()).filter(|&index| rows.kinds[index].is_read());
        let mask = ProjectionMask::roots(builder.parquet_schema(), used);
        let again = file.try_clone();
        let again = again.map_err(|cause| RecordsError::Io { path: path.to_owned(), cause })?;
        let is_read = |leaf| mask.leaf_included(leaf);
        pages::check(again, builder.metadata(), is_read)
            .map_err(|reason| damaged(path, 1, reason))?;
        let leaves = first_leaves(&builder, rows.columns.len());
        let batch_rows = batch_rows(builder.metadata(), rows.columns.len());
        let reader = builder.with_projection(mask).with_batch_size(batch_rows).build();
        let reader = reader.map_err(|error| damaged(path, 1, error))?;
        Ok(Self { path: path.to_owned(), file, reader, rows, leaves, rows_read: 0 })
    }

    /// Decodes batches until there is a row to hand out, or the end.
    fn fill(&mut self) -> Result<()> {
        while self.rows.is_empty() {
            let Some(batch) = self.reader.next() else { break };
            let batch = batch.map_err(|error| self.batch_error(error))?;
            let pushed = self.rows.push(&batch);
            pushed.map_err(|error| damaged(&self.path, self.rows_read + 1, error))?;
        }
        Ok(())
    }

    fn batch_error(&self, error: ArrowError) -> RecordsError {
        let path = self.path.clone();
        let invalid = |(index, kind): (usize, &Kind)| match kind {
            Kind::Text => {
                let leaf = self.leaves[index];
                Some((first_invalid_row(self.file.try_clone().ok()?, leaf)?, index))
            }
            _ => None,
        };
        match self.rows.kinds.iter().enumerate().filter_map(invalid).min() {
            Some((row, index)) => {
                let name = &self.rows.columns[index];
                let reason = format!("column {} ({name:?}) is not valid UTF-8", index + 1);
                RecordsError::BadRow { path, row, reason }
            }
            None => damaged(&path, self.rows_read + 1, error),
        }
    }
}

fn first_leaves(builder: &Builder, columns: usize) -> Vec<usize> {
    let parquet = builder.parquet_schema();
    let mut leaves = vec![0; columns];
    for leaf in (0..parquet.num_columns()).rev() {
        // A root without any leaf cannot be a plain column, so that a stray index does no harm.
        if let Some(first) = leaves.get_mut(parquet.get_column_root_idx(leaf)) {
            *first = leaf;
        }
    }
    leaves
}

/// How many rows to decode at a time.
fn batch_rows(metadata: &ParquetMetaData, columns: usize) -> usize {
    let groups = metadata.row_groups().iter();
    // What a damaged file says here may be anything, and does no harm.
    let widest = groups.map(|group| group.total_byte_size() / group.num_rows().max(1)).max();
    let row_bytes = widest.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
    let rows = (BATCH_CELLS / columns).min(BATCH_BYTES / row_bytes.max(1));
    rows.clamp(1, MAX_BATCH_ROWS)
}

impl Source for Parquet {
    fn columns(&self) -> &[String] {
        &self.rows.columns
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        if self.rows.is_empty() {
            let path = self.path.clone();
            guarded(&path, self.rows_read + 1, || self.fill())?;
        }
        let row = self.rows.next();
        self.rows_read += usize::from(row.is_some());
        Ok(row)
    }

    fn warnings(&self) -> Vec<String> {
        self.rows.warnings(&self.path)
    }

    fn unreadable(&self, column: usize) -> Option<&str> {
        self.rows.kinds[column].unsupported()
    }

    fn take_original(&mut self) -> Option<Original> {
        self.rows.take_original()
    }
}

/// The parquet crate returns an error for most damage but asserts on some of it, and a damaged
/// file must not take the caller down. After an error nothing more is read.
fn guarded<T>(path: &Path, row: usize, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(read));
    outcome.unwrap_or_else(|_| Err(damaged(path, row, CONTRADICTION)))
}

fn damaged(path: &Path, row: usize, error: impl ToString) -> RecordsError {
    RecordsError::Parquet { path: path.to_owned(), row, cause: error.to_string() }
}

#[cfg(test)]
mod tests;
