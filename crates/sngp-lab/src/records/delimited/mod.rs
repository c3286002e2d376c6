mod scanner;
mod sniff;

use std::io::{Cursor, Read};
use std::str;

use super::cell::{Cell, Row};
use super::columns::{MAX_COLUMNS, check_names};
use super::error::{RecordsError, Result};
use super::input::{Input, MAX_ROW_BYTES, Origin};
use super::source::Source;
use scanner::{Fault, Record, Scanner};
use sniff::{Sample, name_of};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// As much of the file as is looked at to find the delimiter.
const SAMPLE_BYTES: u64 = 64 << 10;

/// A CSV or TSV file. Blank lines hold no row and are passed over.
pub(super) struct Delimited {
    origin: Origin,
    scanner: Scanner,
    columns: Vec<String>,
    record: Record,
    rows_read: usize,
}

impl Delimited {
    pub(super) fn open(mut input: Input, tabs_only: bool) -> Result<Self> {
        let mut start = Vec::new();
        let limit = SAMPLE_BYTES + BYTE_ORDER_MARK.len() as u64;
        let read = input.stream.by_ref().take(limit).read_to_end(&mut start);
        read.map_err(|cause| input.origin.read_error(1, cause))?;
        if start.starts_with(BYTE_ORDER_MARK) {
            start.drain(..BYTE_ORDER_MARK.len());
        }
        let delimiter = delimiter(&input.origin, &start, tabs_only)?;
        let stream = Box::new(Cursor::new(start).chain(input.stream));
        let scanner = Scanner::new(stream, delimiter, MAX_ROW_BYTES);
        let (columns, record) = (Vec::new(), Record::default());
        let mut table = Self { origin: input.origin, scanner, columns, record, rows_read: 0 };
        table.read_header()?;
        Ok(table)
    }

    fn read_header(&mut self) -> Result<()> {
        let path = || self.origin.path.clone();
        let found = self.scanner.next(&mut self.record, MAX_COLUMNS);
        if !found.map_err(|fault| fault_error(&self.origin, 1, fault))? {
            return Err(RecordsError::Empty { path: path() });
        }
        let line = self.record.line;
        if let Some(column) = self.record.broken_field {
            return Err(RecordsError::BrokenQuote { path: path(), line, column });
        }
        if self.record.field_count > MAX_COLUMNS {
            return Err(RecordsError::TooManyColumns { path: path(), limit: MAX_COLUMNS });
        }
        let names = self.record.fields().map(|name| str::from_utf8(name).map(str::to_owned));
        let names = names.collect::<std::result::Result<Vec<_>, _>>();
        self.columns = names.map_err(|_| RecordsError::HeaderUtf8 { path: path(), line })?;
        if let Some(first) = numbers_only(&self.columns) {
            return Err(RecordsError::HeaderMissing { path: path(), first });
        }
        check_names(&self.origin.path, &self.columns)?;
        let more = self.scanner.skip_line_ends();
        if !more.map_err(|fault| fault_error(&self.origin, 1, fault))? {
            return Err(RecordsError::NoRows { path: path() });
        }
        Ok(())
    }

    fn row(&self) -> Row {
        let cell = |field| str::from_utf8(field).map(Cell::from_field);
        let cells = self.record.fields().map(cell).collect::<std::result::Result<_, _>>();
        let reason = match (self.shape_fault(), cells) {
            (None, Ok(cells)) => return Row::Cells(cells),
            (None, Err(_)) => self.utf8_fault(),
            (Some(fault), _) => fault,
        };
        let text = |field| String::from_utf8_lossy(field).into_owned();
        let raw = self.record.fields().map(text).collect();
        Row::Bad { reason: format!("line {}: {reason}", self.record.line), raw }
    }

    fn shape_fault(&self) -> Option<String> {
        if let Some(field) = self.record.broken_field {
            return Some(format!(
                "the quoted field in {} is not closed properly; write a quote inside a quoted \
                 field twice",
                self.column(field - 1)
            ));
        }
        let (found, expected) = (self.record.field_count, self.columns.len());
        let delimiter = name_of(self.scanner.delimiter());
        (found != expected).then(|| {
            format!(
                "{found} fields where the header has {expected}; quote fields that contain the \
                 delimiter ({delimiter})"
            )
        })
    }

    fn utf8_fault(&self) -> String {
        let index = self.record.fields().position(|field| str::from_utf8(field).is_err());
        format!("{} is not valid UTF-8; convert the file", self.column(index.unwrap_or(0)))
    }

    /// The column at `index`, from 0, for messages.
    fn column(&self, index: usize) -> String {
        let name = self.columns.get(index).map(|name| format!(" ({name:?})"));
        format!("column {}{}", index + 1, name.unwrap_or_default())
    }
}

impl Source for Delimited {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        let found = self.scanner.next(&mut self.record, self.columns.len());
        if !found.map_err(|fault| fault_error(&self.origin, self.rows_read + 1, fault))? {
            return Ok(None);
        }
        self.rows_read += 1;
        Ok(Some(self.row()))
    }
}

fn delimiter(origin: &Origin, start: &[u8], tabs_only: bool) -> Result<u8> {
    let is_all = (start.len() as u64) < SAMPLE_BYTES;
    let sample = Sample::of(start, is_all);
    match tabs_only {
        false => Ok(sample.best()),
        true => match sample.other_than_tab() {
            None => Ok(b'\t'),
            Some(other) => {
                let (path, delimiter) = (origin.path.clone(), char::from(other));
                Err(RecordsError::WrongDelimiter { path, delimiter })
            }
        },
    }
}

fn fault_error(origin: &Origin, row: usize, fault: Fault) -> RecordsError {
    let path = || origin.path.clone();
    match fault {
        Fault::Read(cause) => origin.read_error(row, cause),
        Fault::BrokenQuote { line, column } => {
            RecordsError::BrokenQuote { path: path(), line, column }
        }
        Fault::TooLong { line } => {
            RecordsError::RowTooLong { path: path(), line, limit: MAX_ROW_BYTES }
        }
    }
}

/// The start of the row where all of its fields are numbers and it can therefore not be a header.
fn numbers_only(fields: &[String]) -> Option<String> {
    // A comma may be the decimal point where the delimiter is another.
    let is_number = |field: &String| field.trim().replace(',', ".").parse::<f64>().is_ok();
    let mut filled = fields.iter().filter(|field| !field.trim().is_empty()).peekable();
    let first = filled.peek()?.chars().take(30).collect();
    filled.all(is_number).then_some(first)
}

#[cfg(test)]
mod tests;
