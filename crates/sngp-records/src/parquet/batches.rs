use std::path::{Path, PathBuf};

use arrow_array::RecordBatchReader;
use arrow_schema::ArrowError;

use super::cells::Kind;
use super::rows::BatchRows;
use crate::cell::Row;
use crate::columns::check_names;
use crate::error::{RecordsError, Result};
use crate::original::Original;
use crate::source::Source;

/// Record batches that someone else has read.
pub(crate) struct Batches {
    path: PathBuf,
    reader: Box<dyn RecordBatchReader + Send>,
    rows: BatchRows,
    rows_read: usize,
}

impl Batches {
    pub(crate) fn new(path: &Path, reader: Box<dyn RecordBatchReader + Send>) -> Result<Self> {
        let schema = reader.schema();
        let kinds = schema.fields().iter().map(|field| Kind::of(field.data_type())).collect();
        let rows = BatchRows::new(&schema, kinds, true);
        check_names(path, &rows.columns)?;
        let mut batches = Self { path: path.to_owned(), reader, rows, rows_read: 0 };
        batches.fill()?;
        match batches.rows.is_empty() {
            true => Err(RecordsError::NoRows { path: batches.path }),
            false => Ok(batches),
        }
    }

    /// Takes batches until there is a row to hand out, or the end.
    fn fill(&mut self) -> Result<()> {
        while self.rows.is_empty() {
            let Some(batch) = self.reader.next() else { break };
            let taken = batch.and_then(|batch| self.rows.push(&batch));
            taken.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn failed(&self, error: ArrowError) -> RecordsError {
        let (path, row) = (self.path.clone(), self.rows_read + 1);
        RecordsError::Batches { path, row, cause: error.to_string() }
    }
}

impl Source for Batches {
    fn columns(&self) -> &[String] {
        &self.rows.columns
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        self.fill()?;
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
