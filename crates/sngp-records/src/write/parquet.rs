use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, ListArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::failed;
use super::target::Target;
use crate::cell::{Cell, Chunk, Row};
use crate::error::{RecordsError, Result};
use crate::original::Original;

/// Encoded bytes that are held back before a row group is closed, for flat memory.
const GROUP_BYTES: usize = 64 << 20;

/// Writes Parquet. The columns have types only once the first batch is there.
pub(super) struct ParquetEncoder {
    path: PathBuf,
    columns: Vec<String>,
    state: State,
}

enum State {
    Waiting(Target),
    Writing(Box<Open>),
    /// Starting the file failed.
    Failed,
}

/// A file under way. Its first columns may be arrays that were read, the others are made of cells.
struct Open {
    kept: usize,
    kinds: Vec<Kind>,
    schema: SchemaRef,
    writer: ArrowWriter<Target>,
}

impl ParquetEncoder {
    pub(super) fn new(path: &Path, columns: &[String], target: Target) -> Self {
        let (path, columns) = (path.to_owned(), columns.to_vec());
        Self { path, columns, state: State::Waiting(target) }
    }

    /// Writes rows that come after `rows_before` others.
    pub(super) fn write(&mut self, rows: &[Vec<Cell>], rows_before: usize) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.start(&[], rows)?;
        self.write_part(&[], rows, rows_before)
    }

    /// Writes rows with cells beside them, in their own types where those were kept.
    pub(super) fn write_beside(
        &mut self,
        chunk: &Chunk,
        beside: &[Vec<Cell>],
        rows_before: usize,
    ) -> Result<()> {
        let batches = match (&chunk.original, &self.state) {
            // Once cells have been written, the types of the first are those of the file.
            (Some(Original::Batches(_)), State::Writing(open)) if open.kept == 0 => None,
            (Some(Original::Batches(batches)), _) => Some(batches),
            _ => None,
        };
        let Some(batches) = batches else {
            return self.write(&joined(chunk, beside, self.columns.len()), rows_before);
        };
        if let Some(first) = batches.first() {
            self.start(first.schema().fields(), beside)?;
        }
        let mut rows_done = 0;
        for batch in batches {
            let part = &beside[rows_done..][..batch.num_rows()];
            self.write_part(batch.columns(), part, rows_before + rows_done)?;
            rows_done += batch.num_rows();
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Target> {
        self.start(&[], &[])?;
        match self.state {
            State::Writing(mut open) => {
                let finished = open.writer.finish();
                finished.map_err(|error| write_error(&self.path, error))?;
                // Not `into_inner`, whose errors are text alone.
                let spent = Target::Stream(Box::new(io::sink()));
                Ok(std::mem::replace(open.writer.inner_mut(), spent))
            }
            State::Waiting(_) | State::Failed => Err(stopped(&self.path)),
        }
    }

    /// Gives the columns the types of these first rows, unless they have types already: first the
    /// `kept` ones as they are, then those of the cells.
    fn start(&mut self, kept: &[FieldRef], rows: &[Vec<Cell>]) -> Result<()> {
        self.state = match std::mem::replace(&mut self.state, State::Failed) {
            State::Waiting(target) => {
                let open = Open::new(&self.columns, kept, rows, target);
                State::Writing(Box::new(open.map_err(|error| write_error(&self.path, error))?))
            }
            other => other,
        };
        Ok(())
    }

    fn write_part(
        &mut self,
        kept: &[ArrayRef],
        rows: &[Vec<Cell>],
        rows_before: usize,
    ) -> Result<()> {
        let State::Writing(open) = &mut self.state else { return Err(stopped(&self.path)) };
        for (index, row) in rows.iter().enumerate() {
            let columns = self.columns.iter().skip(open.kept);
            for ((cell, kind), column) in row.iter().zip(&open.kinds).zip(columns) {
                if !kind.takes(cell) {
                    return Err(RecordsError::CellKind {
                        path: self.path.clone(),
                        row: rows_before + index + 1,
                        column: column.clone(),
                        found: cell.kind(),
                        expected: kind.name(),
                    });
                }
            }
        }
        open.write(kept, rows).map_err(|error| write_error(&self.path, error))
    }
}

impl Open {
    fn new(
        columns: &[String],
        kept: &[FieldRef],
        rows: &[Vec<Cell>],
        target: Target,
    ) -> std::result::Result<Self, ParquetError> {
        let made = columns.len() - kept.len();
        let kinds: Vec<_> = (0..made).map(|column| Kind::of(rows, column)).collect();
        let field = |(name, kind): (&String, &Kind)| Field::new(name, kind.data_type(), true);
        let kept_fields = kept.iter().zip(columns);
        let kept_fields = kept_fields.map(|(field, name)| field.as_ref().clone().with_name(name));
        let made_fields = columns[kept.len()..].iter().zip(&kinds).map(field);
        let schema = Arc::new(Schema::new(kept_fields.chain(made_fields).collect::<Vec<_>>()));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(target, schema.clone(), Some(properties))?;
        Ok(Self { kept: kept.len(), kinds, schema, writer })
    }

    fn write(
        &mut self,
        kept: &[ArrayRef],
        rows: &[Vec<Cell>],
    ) -> std::result::Result<(), ParquetError> {
        let kinds = self.kinds.iter().enumerate();
        let made = kinds.map(|(column, kind)| kind.array(rows, column));
        let arrays = kept.iter().cloned().chain(made).collect();
        self.writer.write(&RecordBatch::try_new(self.schema.clone(), arrays)?)?;
        if self.writer.in_progress_size() > GROUP_BYTES {
            self.writer.flush()?;
        }
        Ok(())
    }
}

/// The cells of a chunk's rows and those beside them, in one.
fn joined(chunk: &Chunk, beside: &[Vec<Cell>], columns: usize) -> Vec<Vec<Cell>> {
    let row = |(row, more): (&Row, &Vec<Cell>)| {
        let mut cells = row.to_cells(columns - more.len());
        cells.extend_from_slice(more);
        cells
    };
    chunk.rows.iter().zip(beside).map(row).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number,
    Bool,
    Text,
    List,
}

impl Kind {
    /// The kind of all cells of the column, or text.
    fn of(rows: &[Vec<Cell>], column: usize) -> Self {
        let kind = |cell: &Cell| match cell {
            Cell::Missing => None,
            Cell::Number(_) => Some(Self::Number),
            Cell::Bool(_) => Some(Self::Bool),
            Cell::Text(_) => Some(Self::Text),
            Cell::List(_) => Some(Self::List),
        };
        let mut kinds = rows.iter().filter_map(|row| kind(&row[column]));
        let first = kinds.next().unwrap_or(Self::Text);
        if kinds.all(|kind| kind == first) { first } else { Self::Text }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Number => "numbers",
            Self::Bool => "booleans",
            Self::Text => "text",
            Self::List => "lists",
        }
    }

    fn takes(self, cell: &Cell) -> bool {
        match cell {
            Cell::Missing => true,
            Cell::Number(_) => matches!(self, Self::Number | Self::Text),
            Cell::Bool(_) => matches!(self, Self::Bool | Self::Text),
            Cell::Text(_) => self == Self::Text,
            Cell::List(_) => matches!(self, Self::List | Self::Text),
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Number => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Text => DataType::Utf8,
            Self::List => DataType::List(Arc::new(Field::new_list_field(DataType::Float32, true))),
        }
    }

    /// The cells of one column, which the kind takes all of.
    fn array(self, rows: &[Vec<Cell>], column: usize) -> ArrayRef {
        let cells = rows.iter().map(|row| &row[column]);
        match self {
            Self::Number => Arc::new(Float64Array::from_iter(cells.map(|cell| match cell {
                Cell::Number(number) => Some(*number),
                _ => None,
            }))),
            Self::Bool => Arc::new(BooleanArray::from_iter(cells.map(|cell| match cell {
                Cell::Bool(value) => Some(*value),
                _ => None,
            }))),
            Self::Text => Arc::new(StringArray::from_iter(cells.map(|cell| match cell {
                Cell::Missing => None,
                other => Some(other.to_field()),
            }))),
            Self::List => {
                let lists = cells.map(|cell| match cell {
                    Cell::List(values) => Some(values.iter().copied().map(Some)),
                    _ => None,
                });
                Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(lists))
            }
        }
    }
}

/// The cause as the system gave it where it did: whoever writes to a pipe has to know.
fn write_error(path: &Path, error: ParquetError) -> RecordsError {
    let cause = match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    };
    failed(path, cause)
}

fn stopped(path: &Path) -> RecordsError {
    failed(path, io::Error::other("an earlier batch could not be written"))
}
