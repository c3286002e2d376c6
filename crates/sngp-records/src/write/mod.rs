#[cfg(feature = "parquet")]
mod parquet;
mod target;
mod text;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::cell::{Cell, Chunk, Row};
use crate::columns::check_names;
use crate::error::{RecordsError, Result};
use crate::format::Format;
#[cfg(feature = "parquet")]
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
/// use sngp_records::{Cell, Format, Records, Writer};
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
    #[cfg(feature = "parquet")]
    Parquet(ParquetEncoder),
}

impl Writer {
    /// Starts a file, or standard output for `-`.
    ///
    /// # Errors
    ///
    /// Where the folder cannot be written to, the name is that of a folder or asks for
    /// compression, the format is only read, or the columns are none, not named or not told apart
    /// by name.
    pub fn create(path: impl AsRef<Path>, format: Format, columns: &[String]) -> Result<Self> {
        let path = path.as_ref();
        if path == Path::new("-") {
            return Self::from_stream(STANDARD_OUTPUT, format, columns, io::stdout());
        }
        Self::new(path, format, columns, || Target::create(path))
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
        Self::new(name.as_ref(), format, columns, || Ok(Target::Stream(Box::new(stream))))
    }

    fn new(
        path: &Path,
        format: Format,
        columns: &[String],
        target: impl FnOnce() -> Result<Target>,
    ) -> Result<Self> {
        let path = path.to_owned();
        check_names(&path, columns)?;
        let target = target()?;
        let encoder = match format {
            Format::Csv => Encoder::Text(TextEncoder::delimited(',', columns, target)),
            Format::Tsv => Encoder::Text(TextEncoder::delimited('\t', columns, target)),
            Format::JsonLines => Encoder::Text(TextEncoder::objects(columns, target)),
            #[cfg(feature = "parquet")]
            Format::Parquet => Encoder::Parquet(ParquetEncoder::new(&path, columns, target)),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(RecordsError::without_parquet(&path)),
            Format::Lines => {
                let reason = "plain lines are only read; write CSV, TSV, JSON Lines or Parquet";
                return Err(RecordsError::Unwritable { path, reason });
            }
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
            #[cfg(feature = "parquet")]
            Encoder::Parquet(parquet) => parquet.write(rows, self.rows_written)?,
        }
        self.rows_written += rows.len();
        Ok(())
    }

    /// Writes the rows of a table as they were read, each with further cells beside it.
    ///
    /// The columns are those of the table, then the further ones. Where the format stays the same
    /// and the originals were [kept](crate::ReadOptions::keep_originals), they stay as they are:
    /// the types of Parquet, the numbers and nested values of JSON, and `NA` in delimited files.
    /// Of a bad row, the fields are written that could be told apart.
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    ///
    /// # Panics
    ///
    /// Where there are more or fewer rows in `beside` than in the chunk.
    ///
    /// ```
    /// use sngp_records::{Cell, Format, ReadOptions, Records, Writer};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let (path, out) = (folder.path().join("in.csv"), folder.path().join("out.csv"));
    /// std::fs::write(&path, "id,x\n007,NA\n")?;
    ///
    /// let options = ReadOptions { keep_originals: true, ..ReadOptions::default() };
    /// let mut records = Records::open_with(&path, options)?;
    /// let columns = [records.columns(), &["score".to_owned()]].concat();
    /// let mut writer = Writer::create(&out, Format::Csv, &columns)?;
    /// while let Some(chunk) = records.next_chunk(1000)? {
    ///     let scores = vec![vec![Cell::Number(0.5)]; chunk.rows.len()];
    ///     writer.write_beside(&chunk, &scores)?;
    /// }
    /// writer.finish()?;
    /// assert_eq!(std::fs::read_to_string(&out)?, "id,x,score\n007,NA,0.5\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_beside(&mut self, chunk: &Chunk, beside: &[Vec<Cell>]) -> Result<()> {
        assert_eq!(chunk.rows.len(), beside.len(), "rows in the chunk and beside it");
        let expected = self.columns;
        for (index, (row, more)) in chunk.rows.iter().zip(beside).enumerate() {
            let found = match row {
                Row::Cells(cells) => cells.len() + more.len(),
                Row::Bad { raw, .. } => expected.max(raw.len() + more.len()),
            };
            if found != expected {
                let (path, row) = (self.path.clone(), self.rows_written + index + 1);
                return Err(RecordsError::RowLength { path, row, expected, found });
            }
        }
        match &mut self.encoder {
            Encoder::Text(text) => {
                let written = text.write_beside(chunk, beside, expected);
                written.map_err(|cause| failed(&self.path, cause))?;
            }
            #[cfg(feature = "parquet")]
            Encoder::Parquet(parquet) => {
                parquet.write_beside(chunk, beside, self.rows_written)?;
            }
        }
        self.rows_written += beside.len();
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
            #[cfg(feature = "parquet")]
            Encoder::Parquet(parquet) => parquet.finish()?,
        };
        target.finish().map_err(|cause| failed(&self.path, cause))
    }
}

fn failed(path: &Path, cause: io::Error) -> RecordsError {
    RecordsError::Write { path: path.to_owned(), cause }
}

#[cfg(test)]
mod beside_tests;
#[cfg(test)]
mod round_trip_tests;
#[cfg(test)]
mod tests;
