use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::cell::{Cell, Chunk, Row};
use crate::columns::listed;
use crate::error::{RecordsError, Result};
use crate::format::Format;
use crate::input::{Input, open_file, spool};
use crate::memory::MemoryTable;
use crate::options::ReadOptions;
use crate::source::{Source, parquet_source, text_source};

const STANDARD_INPUT: &str = "standard input";

/// The name of tables that are in no file, for messages.
pub(crate) const MEMORY: &str = "memory";

/// A chunk ends with the row that fills it to this many cells: they take about 50 bytes each, so
/// that a chunk of short cells stays near 50 MB however many columns a table has.
const MAX_CHUNK_CELLS: usize = 1_000_000;

/// Or to this many bytes of text and lists, which is also the most that one row may have.
const MAX_CHUNK_BYTES: usize = 64 << 20;

/// A table read in chunks, from a file or a stream of any length.
///
/// ```
/// use sngp_records::{Cell, Records, Row};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("own.csv");
/// std::fs::write(&path, "age;town\n31;Ulm\n?;Bonn\n5\n")?;
///
/// let mut records = Records::open(&path)?;
/// assert_eq!(records.columns(), ["age", "town"]);
/// let chunk = records.next_chunk(1000)?.unwrap();
/// assert_eq!(chunk.rows[1], Row::Cells(vec![Cell::Missing, Cell::Text("Bonn".to_owned())]));
/// assert!(matches!(&chunk.rows[2], Row::Bad { raw, .. } if *raw == ["5"]));
/// assert!(records.next_chunk(1000)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Records {
    path: PathBuf,
    source: Box<dyn Source>,
    rows_read: usize,
    state: State,
}

enum State {
    Reading,
    /// The rows before the error have been handed out, the error has not.
    Failed(RecordsError),
    Done,
}

impl Records {
    /// Opens a file in the format its extension names.
    ///
    /// # Errors
    ///
    /// Where the extension is unknown, or as for [`open_with`](Self::open_with).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, ReadOptions::default())
    }

    /// Opens a file, or standard input for `-`, in the given format.
    ///
    /// # Errors
    ///
    /// As for [`open_with`](Self::open_with).
    pub fn open_as(path: impl AsRef<Path>, format: Format) -> Result<Self> {
        Self::open_with(path, ReadOptions { format: Some(format), ..ReadOptions::default() })
    }

    /// Opens a file, or standard input for `-`, as the options say.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, is empty or has no rows, its columns are missing, not named,
    /// not told apart by name or too many, or it is damaged from the start.
    pub fn open_with(path: impl AsRef<Path>, options: ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let format = options.format.map_or_else(|| Format::of_path(path), Ok)?;
        if path == Path::new("-") {
            let options = ReadOptions { format: Some(format), ..options };
            return Self::from_reader_with(STANDARD_INPUT, options, io::stdin());
        }
        let source = match format {
            Format::Parquet => parquet_source(path, || open_file(path), &options)?,
            _ => text_source(format, Input::open(path)?, &options)?,
        };
        Ok(Self::new(path, source))
    }

    /// Reads a table from a stream; `name` stands for it in messages.
    ///
    /// # Errors
    ///
    /// As for [`open_with`](Self::open_with).
    ///
    /// ```
    /// use sngp_records::{Cell, Format, Records};
    ///
    /// let lines = "{\"x\": 1}\n{\"x\": null}\n".as_bytes();
    /// let mut records = Records::from_reader("pipe", Format::JsonLines, lines)?;
    /// let cells = records.next_cells(10)?.unwrap();
    /// assert_eq!(cells, [[Cell::Number(1.0)], [Cell::Missing]]);
    /// # Ok::<(), sngp_records::RecordsError>(())
    /// ```
    pub fn from_reader(
        name: impl AsRef<Path>,
        format: Format,
        reader: impl Read + Send + 'static,
    ) -> Result<Self> {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        Self::from_reader_with(name, options, reader)
    }

    /// Reads a table from a stream as the options say; without a format, as its name does.
    ///
    /// Text may be compressed by gzip. Parquet, whose table of contents comes last, goes to a
    /// temporary file first.
    ///
    /// # Errors
    ///
    /// As for [`open_with`](Self::open_with).
    pub fn from_reader_with(
        name: impl AsRef<Path>,
        options: ReadOptions,
        reader: impl Read + Send + 'static,
    ) -> Result<Self> {
        let name = name.as_ref();
        let format = options.format.map_or_else(|| Format::of_path(name), Ok)?;
        let source = match format {
            Format::Parquet => parquet_source(name, || spool(name, reader), &options)?,
            _ => text_source(format, Input::from_stream(name, Box::new(reader))?, &options)?,
        };
        Ok(Self::new(name, source))
    }

    /// A table that is in memory already, each row with one cell per column.
    ///
    /// # Errors
    ///
    /// Where there are no rows, a row has more or fewer cells, or the columns are none, not named
    /// or not told apart by name.
    ///
    /// ```
    /// use sngp_records::{Cell, Records};
    ///
    /// let rows = vec![vec![Cell::Number(0.5)], vec![Cell::Missing]];
    /// let mut records = Records::from_cells(vec!["x".to_owned()], rows.clone())?;
    /// assert_eq!(records.next_cells(10)?, Some(rows));
    /// # Ok::<(), sngp_records::RecordsError>(())
    /// ```
    pub fn from_cells(columns: Vec<String>, rows: Vec<Vec<Cell>>) -> Result<Self> {
        let path = Path::new(MEMORY);
        Ok(Self::new(path, Box::new(MemoryTable::new(path, columns, rows)?)))
    }

    /// A table of Arrow record batches, with their own types where they are
    /// [written](crate::Writer::write_beside) again.
    ///
    /// # Errors
    ///
    /// Where there are no rows, the first batch is an error, or the columns are none, not named or
    /// not told apart by name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
    /// use sngp_records::{Cell, Records};
    ///
    /// let ids: ArrayRef = Arc::new(Int64Array::from(vec![7]));
    /// let batch = RecordBatch::try_from_iter([("id", ids)])?;
    /// let schema = batch.schema();
    /// let mut records = Records::from_batches(RecordBatchIterator::new([Ok(batch)], schema))?;
    /// assert_eq!(records.next_cells(10)?.unwrap(), [[Cell::Number(7.0)]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "parquet")]
    pub fn from_batches(
        batches: impl arrow_array::RecordBatchReader + Send + 'static,
    ) -> Result<Self> {
        let path = Path::new(MEMORY);
        Ok(Self::new(path, Box::new(crate::parquet::Batches::new(path, Box::new(batches))?)))
    }

    fn new(path: &Path, source: Box<dyn Source>) -> Self {
        Self { path: path.to_owned(), source, rows_read: 0, state: State::Reading }
    }

    /// The name the table was opened under.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the columns, in order, all different.
    pub fn columns(&self) -> &[String] {
        self.source.columns()
    }

    /// Where the column of this name is, from 0.
    ///
    /// # Errors
    ///
    /// Where there is none, or it is of a type that cannot become cells.
    ///
    /// ```
    /// use sngp_records::{Format, Records};
    ///
    /// let records = Records::from_reader("a.csv", Format::Csv, "x,y\n1,2\n".as_bytes())?;
    /// assert_eq!(records.column("y")?, 1);
    /// let error = records.column("z").unwrap_err().to_string();
    /// assert_eq!(error, "a.csv has no column \"z\"; its columns are [\"x\", \"y\"]");
    /// # Ok::<(), sngp_records::RecordsError>(())
    /// ```
    pub fn column(&self, name: &str) -> Result<usize> {
        let (path, column) = (|| self.path.clone(), name.to_owned());
        let Some(index) = self.columns().iter().position(|present| present == name) else {
            let present = listed(self.columns());
            return Err(RecordsError::MissingColumn { path: path(), column, present });
        };
        match self.source.unreadable(index) {
            None => Ok(index),
            Some(found) => {
                let found = found.to_owned();
                Err(RecordsError::UnreadableColumn { path: path(), column, found })
            }
        }
    }

    /// What was passed over so far without being an error.
    pub fn warnings(&self) -> Vec<String> {
        self.source.warnings()
    }

    /// The next rows, at most `max_rows` and at least one, or `None` at the end.
    ///
    /// There are fewer where they would take much memory: about a million cells, or 64 MiB of text.
    ///
    /// # Errors
    ///
    /// Where the rest of the file cannot be read. The rows before that are handed out first, and
    /// after an error there are no more.
    pub fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Chunk>> {
        let mut rows = Vec::new();
        let (mut cells, mut bytes) = (0, 0);
        let has_room = |rows: &[Row], cells: usize, bytes: usize| {
            rows.len() < max_rows.max(1) && cells < MAX_CHUNK_CELLS && bytes < MAX_CHUNK_BYTES
        };
        while has_room(&rows, cells, bytes) && matches!(self.state, State::Reading) {
            match self.source.next_row() {
                Ok(Some(row)) => {
                    let size = row.size();
                    (cells, bytes) = (cells + size.0, bytes + size.1);
                    rows.push(row);
                }
                Ok(None) => self.state = State::Done,
                Err(error) => self.state = State::Failed(error),
            }
        }
        if rows.is_empty() {
            return match std::mem::replace(&mut self.state, State::Done) {
                State::Failed(error) => Err(error),
                _ => Ok(None),
            };
        }
        let first_row = self.rows_read;
        self.rows_read += rows.len();
        Ok(Some(Chunk { first_row, rows, original: self.source.take_original() }))
    }

    /// As [`next_chunk`](Self::next_chunk), where every row has to be good.
    ///
    /// # Errors
    ///
    /// [`RecordsError::BadRow`] for the first bad row, or as for `next_chunk`.
    pub fn next_cells(&mut self, max_rows: usize) -> Result<Option<Vec<Vec<Cell>>>> {
        let chunk = self.next_chunk(max_rows)?;
        chunk.map(|chunk| chunk.into_cells(&self.path)).transpose()
    }
}

#[cfg(test)]
mod tests;
