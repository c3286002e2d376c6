use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::ConvertedType;

use super::super::error::{DatasetError, Place, Result};
use super::super::source::io_error;
use super::{Columns, Rows};
use crate::records::first_invalid_row;

type Builder = ParquetRecordBatchReaderBuilder<File>;

pub(super) fn read(path: &Path, columns: Columns) -> Result<Rows> {
    // The parquet crate returns an error for most damage but asserts on some of it, and a damaged
    // file must not take the caller down. Nothing half-read outlives the closure.
    let outcome = catch_unwind(AssertUnwindSafe(|| read_unguarded(path, columns)));
    outcome.unwrap_or_else(|_| Err(damaged(path, 1, "the file contradicts itself")))
}

fn read_unguarded(path: &Path, columns: Columns) -> Result<Rows> {
    let builder = open(path)?;
    let fields = builder.schema().fields();
    let names: Vec<_> = fields.iter().map(|field| field.name().as_str()).collect();
    columns.locate(path, &names)?;
    let text = Column::find(path, &builder, columns.text, "strings", |_| false)?;
    let label = columns.label.map(|label| {
        let is_plain = |kind: &DataType| kind.is_integer() || *kind == DataType::Boolean;
        Column::find(path, &builder, label, "strings, integers or booleans", is_plain)
    });
    Reading { path, text, label: label.transpose()? }.run(builder)
}

fn open(path: &Path) -> Result<Builder> {
    let file = File::open(path).map_err(|cause| io_error(path, cause))?;
    // An embedded Arrow schema can declare bytes to be strings, and those are then not checked to
    // be UTF-8. Parquet's own types lose nothing that matters here.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    Builder::try_new_with_options(file, options).map_err(|error| damaged(path, 1, error))
}

fn damaged(path: &Path, row: usize, error: impl ToString) -> DatasetError {
    DatasetError::Parquet { path: path.to_owned(), row, cause: error.to_string() }
}

struct Column<'a> {
    name: &'a str,
    leaf: usize,
}

impl<'a> Column<'a> {
    /// The column if it holds strings or a type that is `also_allowed`.
    fn find(
        path: &Path,
        builder: &Builder,
        name: &'a str,
        expected: &'static str,
        also_allowed: impl Fn(&DataType) -> bool,
    ) -> Result<Self> {
        let schema = builder.parquet_schema();
        let leaf = (0..schema.num_columns())
            .find(|&leaf| schema.get_column_root(leaf).name() == name)
            .ok_or_else(|| damaged(path, 1, format!("column {name:?} holds no values")))?;
        let field = builder.schema().field_with_name(name);
        let data_type = field.map_err(|error| damaged(path, 1, error))?.data_type();
        let annotation = schema.column(leaf).converted_type();
        // Text with another annotation, such as JSON, is not checked to be UTF-8 by the reader.
        let found = match (data_type, annotation) {
            (DataType::Utf8, ConvertedType::UTF8) => return Ok(Self { name, leaf }),
            (DataType::Utf8, other) => other.to_string(),
            (plain, _) if also_allowed(plain) => return Ok(Self { name, leaf }),
            (other, _) => other.to_string(),
        };
        let (path, column) = (path.to_owned(), name.to_owned());
        Err(DatasetError::ColumnType { path, column, found, expected })
    }
}

struct Reading<'a> {
    path: &'a Path,
    text: Column<'a>,
    label: Option<Column<'a>>,
}

impl Reading<'_> {
    fn run(&self, builder: Builder) -> Result<Rows> {
        let mask = ProjectionMask::leaves(builder.parquet_schema(), self.leaves());
        let reader = builder.with_projection(mask).build();
        let mut rows = Rows::default();
        for batch in reader.map_err(|error| damaged(self.path, 1, error))? {
            let batch = batch.map_err(|error| self.batch_error(rows.texts.len() + 1, error))?;
            self.append(&mut rows.texts, &batch, self.text.name)?;
            if let Some(label) = &self.label {
                self.append(&mut rows.labels, &batch, label.name)?;
            }
        }
        Ok(rows)
    }

    fn leaves(&self) -> impl Iterator<Item = usize> {
        [Some(&self.text), self.label.as_ref()].into_iter().flatten().map(|column| column.leaf)
    }

    fn append(&self, values: &mut Vec<String>, batch: &RecordBatch, column: &str) -> Result<()> {
        // Large offsets, because a batch of long texts can pass the 2 GiB of plain Utf8.
        let strings = cast(&batch[column], &DataType::LargeUtf8)
            .map_err(|error| damaged(self.path, values.len() + 1, error))?;
        for value in strings.as_string::<i64>() {
            let value = value.ok_or_else(|| DatasetError::Null {
                path: self.path.to_owned(),
                place: Place::Row(values.len() + 1),
                column: column.to_owned(),
            })?;
            values.push(value.to_owned());
        }
        Ok(())
    }

    fn batch_error(&self, row: usize, error: ArrowError) -> DatasetError {
        let path = self.path.to_owned();
        let invalid = |leaf| first_invalid_row(File::open(&path).ok()?, leaf);
        match self.leaves().filter_map(invalid).min() {
            Some(row) => DatasetError::InvalidUtf8 { path, place: Place::Row(row), byte: None },
            None => damaged(self.path, row, error),
        }
    }
}

#[cfg(test)]
mod tests;
