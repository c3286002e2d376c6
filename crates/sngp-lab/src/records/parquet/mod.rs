mod cells;
mod invalid_utf8;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::cell::{Cell, Row};
use super::columns::check_names;
use super::error::{RecordsError, Result};
use super::source::Source;
use cells::Kind;
pub(crate) use invalid_utf8::first_invalid_row;

type Builder = ParquetRecordBatchReaderBuilder<File>;

/// Cells decoded at a time, so that wide tables take no more memory than narrow ones.
const BATCH_CELLS: usize = 1 << 18;
const MAX_BATCH_ROWS: usize = 1024;

const CONTRADICTION: &str = "the file contradicts itself";

/// A Parquet file.
pub(super) struct Parquet {
    path: PathBuf,
    file: File,
    reader: ParquetRecordBatchReader,
    columns: Vec<String>,
    kinds: Vec<Kind>,
    pending: VecDeque<Row>,
    rows_read: usize,
}

impl Parquet {
    pub(super) fn open(path: &Path, file: File) -> Result<Self> {
        guarded(path, 1, || Self::open_unguarded(path, file))
    }

    fn open_unguarded(path: &Path, file: File) -> Result<Self> {
        let copy = file.try_clone();
        let copy = copy.map_err(|cause| RecordsError::Io { path: path.to_owned(), cause })?;
        // An embedded Arrow schema can declare bytes to be strings, and those are then not checked
        // to be UTF-8. Parquet's own types lose nothing that matters here.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = Builder::try_new_with_options(copy, options)
            .map_err(|error| damaged(path, 1, error))?;
        let columns: Vec<_> =
            builder.schema().fields().iter().map(|field| field.name().clone()).collect();
        check_names(path, &columns)?;
        if builder.metadata().file_metadata().num_rows() == 0 {
            return Err(RecordsError::NoRows { path: path.to_owned() });
        }
        let kinds = cells::kinds(builder.schema(), builder.parquet_schema());
        let used = (0..kinds.len()).filter(|&index| kinds[index].is_read());
        let mask = ProjectionMask::roots(builder.parquet_schema(), used);
        let rows = (BATCH_CELLS / kinds.len()).clamp(1, MAX_BATCH_ROWS);
        let reader = builder.with_projection(mask).with_batch_size(rows).build();
        let reader = reader.map_err(|error| damaged(path, 1, error))?;
        let (path, pending) = (path.to_owned(), VecDeque::new());
        Ok(Self { path, file, reader, columns, kinds, pending, rows_read: 0 })
    }

    /// Decodes the next batch; leaves `pending` empty at the end.
    fn fill(&mut self) -> Result<()> {
        let Some(batch) = self.reader.next() else { return Ok(()) };
        let batch = batch.map_err(|error| self.batch_error(error))?;
        let columns = self.cells(&batch);
        let columns = columns.map_err(|error| damaged(&self.path, self.rows_read + 1, error))?;
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        let row = |_| Row::Cells(columns.iter_mut().filter_map(Iterator::next).collect());
        self.pending.extend((0..batch.num_rows()).map(row));
        Ok(())
    }

    fn cells(&self, batch: &RecordBatch) -> std::result::Result<Vec<Vec<Cell>>, ArrowError> {
        let mut arrays = batch.columns().iter();
        let cells = self.kinds.iter().map(|kind| match kind {
            Kind::Unsupported(_) => Ok(vec![kind.stand_in(); batch.num_rows()]),
            _ => kind.cells(arrays.next().ok_or_else(|| {
                ArrowError::SchemaError("a column is missing from a row group".to_owned())
            })?),
        });
        cells.collect()
    }

    fn batch_error(&self, error: ArrowError) -> RecordsError {
        let path = self.path.clone();
        let invalid = |(index, kind): (usize, &Kind)| match kind {
            Kind::Text { leaf } => {
                Some((first_invalid_row(self.file.try_clone().ok()?, *leaf)?, index))
            }
            _ => None,
        };
        match self.kinds.iter().enumerate().filter_map(invalid).min() {
            Some((row, index)) => {
                let name = &self.columns[index];
                let reason = format!("column {} ({name:?}) is not valid UTF-8", index + 1);
                RecordsError::BadRow { path, row, reason }
            }
            None => damaged(&path, self.rows_read + 1, error),
        }
    }
}

impl Source for Parquet {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        if self.pending.is_empty() {
            let path = self.path.clone();
            guarded(&path, self.rows_read + 1, || self.fill())?;
        }
        let row = self.pending.pop_front();
        self.rows_read += usize::from(row.is_some());
        Ok(row)
    }

    fn warnings(&self) -> Vec<String> {
        let warning = |(name, kind): (&String, &Kind)| match kind {
            Kind::Unsupported(found) => Some(format!(
                "{}: column {name:?} has the unsupported type {found}; convert it to numbers, \
                 booleans, strings or lists of numbers",
                self.path.display()
            )),
            _ => None,
        };
        self.columns.iter().zip(&self.kinds).filter_map(warning).collect()
    }
}

/// The bytes of a stream in a temporary file without a name.
pub(super) fn spool(name: &Path, mut reader: impl Read) -> Result<File> {
    let copied = tempfile::tempfile().and_then(|mut file| {
        io::copy(&mut reader, &mut file)?;
        Ok(file)
    });
    copied.map_err(|cause| RecordsError::Io { path: name.to_owned(), cause })
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
