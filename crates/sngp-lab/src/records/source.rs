use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::cell::{Cell, Chunk, Row};
use super::delimited::Delimited;
use super::error::{RecordsError, Result};
use super::format::Format;
use super::input::{Input, open_file};
use super::json_lines::JsonLines;
use super::parquet::{Parquet, spool};

const STANDARD_INPUT: &str = "standard input";

/// What every format gives: named columns and one row after another.
pub(super) trait Source: Send {
    fn columns(&self) -> &[String];

    fn next_row(&mut self) -> Result<Option<Row>>;

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A table read in chunks, from a file or a stream of any length.
///
/// ```
/// use sngp_lab::records::{Cell, Records, Row};
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
    /// Where the extension is unknown, or as for [`open_as`](Self::open_as).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::open_as(path, Format::of_path(path)?)
    }

    /// Opens a file, or standard input for `-`, in the given format.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, is empty or has no rows, its columns are missing, not named,
    /// not told apart by name or too many, or it is damaged from the start.
    pub fn open_as(path: impl AsRef<Path>, format: Format) -> Result<Self> {
        let path = path.as_ref();
        if path == Path::new("-") {
            return Self::from_reader(STANDARD_INPUT, format, io::stdin());
        }
        let source: Box<dyn Source> = match format {
            Format::Parquet => Box::new(Parquet::open(path, open_file(path)?)?),
            _ => text_source(format, Input::open(path)?)?,
        };
        Ok(Self::new(path, source))
    }

    /// Reads a table from a stream; `name` stands for it in messages.
    ///
    /// Text may be compressed by gzip. Parquet, whose table of contents comes last, goes to a
    /// temporary file first.
    ///
    /// # Errors
    ///
    /// As for [`open_as`](Self::open_as).
    ///
    /// ```
    /// use sngp_lab::records::{Cell, Format, Records};
    ///
    /// let lines = "{\"x\": 1}\n{\"x\": null}\n".as_bytes();
    /// let mut records = Records::from_reader("pipe", Format::JsonLines, lines)?;
    /// let cells = records.next_cells(10)?.unwrap();
    /// assert_eq!(cells, [[Cell::Number(1.0)], [Cell::Missing]]);
    /// # Ok::<(), sngp_lab::records::RecordsError>(())
    /// ```
    pub fn from_reader(
        name: impl AsRef<Path>,
        format: Format,
        reader: impl Read + Send + 'static,
    ) -> Result<Self> {
        let name = name.as_ref();
        let source: Box<dyn Source> = match format {
            Format::Parquet => Box::new(Parquet::open(name, spool(name, reader)?)?),
            _ => text_source(format, Input::from_stream(name, Box::new(reader))?)?,
        };
        Ok(Self::new(name, source))
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

    /// What was passed over so far without being an error.
    pub fn warnings(&self) -> Vec<String> {
        self.source.warnings()
    }

    /// The next rows, at most `max_rows` and at least one, or `None` at the end.
    ///
    /// # Errors
    ///
    /// Where the rest of the file cannot be read. The rows before that are handed out first, and
    /// after an error there are no more.
    pub fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Chunk>> {
        let mut rows = Vec::new();
        while rows.len() < max_rows.max(1) && matches!(self.state, State::Reading) {
            match self.source.next_row() {
                Ok(Some(row)) => rows.push(row),
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
        Ok(Some(Chunk { first_row, rows }))
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

fn text_source(format: Format, input: Input) -> Result<Box<dyn Source>> {
    match format {
        Format::JsonLines => Ok(Box::new(JsonLines::open(input)?)),
        other => Ok(Box::new(Delimited::open(input, other == Format::Tsv)?)),
    }
}

#[cfg(test)]
mod tests;
