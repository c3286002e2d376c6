mod parquet;
mod target;
mod text;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::cell::Cell;
use super::columns::check_names;
use super::error::{RecordsError, Result};
use super::format::Format;
use parquet::ParquetEncoder;
use target::Target;
use text::TextEncoder;

const STANDARD_OUTPUT: &str = "standard output";

/// Writes a table batch by batch.
///
/// A file appears under its name only with [`finish`](Self::finish), in place of what was there;
/// a writer dropped before leaves nothing behind. What each format cannot hold as it is: CSV holds
/// text only, JSON makes null of numbers that are not finite, and in Parquet the first batch fixes
/// the type of each column (text, where it holds several kinds or no value at all).
///
/// ```
/// use sngp_lab::records::{Cell, Format, Records, Writer};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("out.csv");
/// let columns = ["town".to_owned(), "score".to_owned()];
/// let mut writer = Writer::create(&path, Format::Csv, &columns)?;
/// writer.write(&[vec![Cell::Text("Halle, Saale".to_owned()), Cell::Number(0.5)]])?;
/// assert!(!path.exists());
/// writer.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "town,score\n\"Halle, Saale\",0.5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    path: PathBuf,
    columns: usize,
    rows_written: usize,
    encoder: Encoder,
}

enum Encoder {
    Text(TextEncoder),
    Parquet(ParquetEncoder),
}

impl Writer {
    /// Starts a file, or standard output for `-`.
    ///
    /// # Errors
    ///
    /// Where the folder cannot be written to, the name is that of a folder or device or asks for
    /// compression, or the columns are none, not named or not told apart by name.
    pub fn create(path: impl AsRef<Path>, format: Format, columns: &[String]) -> Result<Self> {
        let path = path.as_ref();
        if path == Path::new("-") {
            return Self::from_stream(STANDARD_OUTPUT, format, columns, io::stdout());
        }
        check_names(path, columns)?;
        Self::new(path, format, columns, Target::create(path)?)
    }

    /// Starts a table on a stream; `name` stands for it in messages.
    ///
    /// The stream is flushed after each batch, for a reader at its other end. Parquet is the
    /// exception, since it is of no use before its end.
    ///
    /// # Errors
    ///
    /// Where the stream cannot be written to, or for columns as in [`create`](Self::create).
    pub fn from_stream(
        name: impl AsRef<Path>,
        format: Format,
        columns: &[String],
        stream: impl Write + Send + 'static,
    ) -> Result<Self> {
        let name = name.as_ref();
        check_names(name, columns)?;
        Self::new(name, format, columns, Target::Stream(Box::new(stream)))
    }

    fn new(path: &Path, format: Format, columns: &[String], target: Target) -> Result<Self> {
        let path = path.to_owned();
        let encoder = match format {
            Format::Parquet => Encoder::Parquet(ParquetEncoder::new(&path, columns, target)),
            _ => Encoder::Text(TextEncoder::new(format, columns, target)),
        };
        Ok(Self { path, columns: columns.len(), rows_written: 0, encoder })
    }

    /// Writes rows, each with one cell per column.
    ///
    /// # Errors
    ///
    /// Where a row has more or fewer cells, a cell does not go with the type of its Parquet
    /// column, or the disk is full.
    pub fn write(&mut self, rows: &[Vec<Cell>]) -> Result<()> {
        let expected = self.columns;
        if let Some(index) = rows.iter().position(|row| row.len() != expected) {
            let (row, found) = (self.rows_written + index + 1, rows[index].len());
            return Err(RecordsError::RowLength { path: self.path.clone(), row, expected, found });
        }
        match &mut self.encoder {
            Encoder::Text(text) => text.write(rows).map_err(|cause| failed(&self.path, cause))?,
            Encoder::Parquet(parquet) => parquet.write(rows, self.rows_written)?,
        }
        self.rows_written += rows.len();
        Ok(())
    }

    /// Completes the table and gives the file its name.
    ///
    /// # Errors
    ///
    /// Where the rest cannot be written or the file not be renamed; nothing is left then.
    pub fn finish(self) -> Result<()> {
        let target = match self.encoder {
            Encoder::Text(text) => text.finish().map_err(|cause| failed(&self.path, cause))?,
            Encoder::Parquet(parquet) => parquet.finish()?,
        };
        target.finish().map_err(|cause| failed(&self.path, cause))
    }
}

fn failed(path: &Path, cause: io::Error) -> RecordsError {
    RecordsError::Write { path: path.to_owned(), cause }
}

#[cfg(test)]
mod round_trip_tests;
#[cfg(test)]
mod tests;
