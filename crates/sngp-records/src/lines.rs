use std::io::{BufRead, BufReader, Read};

use crate::cell::{Cell, Row};
use crate::error::{RecordsError, Result};
use crate::input::{Input, MAX_ROW_BYTES, Origin, Stream};
use crate::options::Header;
use crate::source::Source;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The name of the only column, unless another is given.
const COLUMN: &str = "text";

/// The lines of a file, without their ends and a byte order mark.
pub(crate) struct LineReader {
    pub(crate) origin: Origin,
    reader: BufReader<Stream>,
    buffer: Vec<u8>,
    line: usize,
}

impl LineReader {
    pub(crate) fn new(input: Input) -> Self {
        let reader = BufReader::with_capacity(64 << 10, input.stream);
        Self { origin: input.origin, reader, buffer: Vec::new(), line: 0 }
    }

    /// The next line and its number from 1; `row` is what a message calls it.
    pub(crate) fn next(&mut self, row: usize) -> Result<Option<(usize, &[u8])>> {
        self.buffer.clear();
        let mut limited = self.reader.by_ref().take(MAX_ROW_BYTES as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.buffer);
        let length = read.map_err(|cause| self.origin.read_error(row, cause))?;
        if length == 0 {
            return Ok(None);
        }
        self.line += 1;
        let (line, limit) = (self.line, MAX_ROW_BYTES);
        if length > limit {
            let path = self.origin.path.clone();
            return Err(RecordsError::RowTooLong { path, line, limit });
        }
        let start = if line == 1 { BYTE_ORDER_MARK } else { b"" };
        let text = self.buffer.strip_prefix(start).unwrap_or(&self.buffer);
        let ends = [&b"\r\n"[..], b"\n"];
        let without_end = ends.iter().find_map(|end| text.strip_suffix(*end));
        Ok(Some((line, without_end.unwrap_or(text))))
    }
}

/// One text per line. Blank lines are empty texts, and `NA` is a text as well.
pub(crate) struct Lines {
    reader: LineReader,
    columns: Vec<String>,
    rows_read: usize,
    /// The first row, read to see that there is one.
    first: Option<Row>,
}

impl Lines {
    pub(crate) fn open(input: Input, header: &Header) -> Result<Self> {
        let column = header.given().first().map_or_else(|| COLUMN.to_owned(), String::clone);
        let (reader, columns) = (LineReader::new(input), vec![column]);
        let mut lines = Self { reader, columns, rows_read: 0, first: None };
        lines.first = lines.read()?;
        match lines.first {
            Some(_) => Ok(lines),
            None => Err(RecordsError::Empty { path: lines.reader.origin.path }),
        }
    }

    fn read(&mut self) -> Result<Option<Row>> {
        let line = self.reader.next(self.rows_read + 1)?;
        let row = line.map(|(line, bytes)| match str::from_utf8(bytes) {
            Ok(text) => Row::Cells(vec![Cell::Text(text.to_owned())]),
            Err(_) => Row::Bad {
                reason: format!("line {line}: not valid UTF-8; convert the file"),
                raw: vec![String::from_utf8_lossy(bytes).into_owned()],
            },
        });
        self.rows_read += usize::from(row.is_some());
        Ok(row)
    }
}

impl Source for Lines {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        match self.first.take() {
            Some(row) => Ok(Some(row)),
            None => self.read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::format::Format;
    use crate::options::ReadOptions;
    use crate::records::Records;
    use crate::testing::{bad, read_all};

    use super::*;

    fn open(bytes: &'static [u8], header: Header) -> Result<Records> {
        let format = Some(Format::Lines);
        Records::from_reader_with(
            "pipe",
            ReadOptions { format, header, ..ReadOptions::default() },
            bytes,
        )
    }

    #[test]
    fn every_line_is_a_text() {
        let bytes = "\u{feff}one, two \r\n\r\nNA\n \"x\r\ny".as_bytes();
        let mut records = open(bytes, Header::Named).unwrap();
        assert_eq!(records.columns(), ["text"]);
        let expected = ["one, two ", "", "NA", " \"x", "y"];
        let expected = expected.map(|text| Row::Cells(vec![Cell::Text(text.to_owned())]));
        assert_eq!(read_all(&mut records).unwrap(), expected);
    }

    #[test]
    fn the_column_may_be_named_and_bad_lines_are() {
        let header = Header::Auto { columns: vec!["query".to_owned()] };
        let mut records = open(b"a\n\xff\nb\n", header).unwrap();
        assert_eq!(records.columns(), ["query"]);
        let rows = read_all(&mut records).unwrap();
        assert_eq!(bad(&rows[1]).0, "line 2: not valid UTF-8; convert the file");
        assert_eq!(rows[2], Row::Cells(vec![Cell::Text("b".to_owned())]));
        assert!(matches!(open(b"", Header::Named).err().unwrap(), RecordsError::Empty { .. }));
    }
}
