mod scanner;
mod sniff;

use std::io::{Cursor, Read};

use crate::cell::{Cell, Row};
use crate::columns::{MAX_COLUMNS, check_names};
use crate::error::{RecordsError, Result};
use crate::input::{Input, MAX_ROW_BYTES, Origin};
use crate::options::{Header, ReadOptions};
use crate::original::{MissingField, Original};
use crate::source::Source;
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
    /// The names of the columns are not in the file.
    is_headless: bool,
    /// The record is a row that has been read but not handed out.
    is_ahead: bool,
    rows_read: usize,
    /// What was read as missing since it was last asked for, where that is kept.
    missing: Option<Vec<MissingField>>,
    /// The row, from 0, that the rows of `missing` are counted from.
    missing_from: usize,
}

impl Delimited {
    pub(super) fn open(mut input: Input, tabs_only: bool, options: &ReadOptions) -> Result<Self> {
        let mut start = Vec::new();
        let limit = SAMPLE_BYTES + BYTE_ORDER_MARK.len() as u64;
        let read = input.stream.by_ref().take(limit).read_to_end(&mut start);
        read.map_err(|cause| input.origin.read_error(1, cause))?;
        if start.starts_with(BYTE_ORDER_MARK) {
            start.drain(..BYTE_ORDER_MARK.len());
        }
        let delimiter = match tabs_only {
            true => tab(&input.origin, &sample(&start))?,
            false => sample(&start).best(options.header.given().len()),
        };
        let stream = Box::new(Cursor::new(start).chain(input.stream));
        let mut table = Self {
            origin: input.origin,
            scanner: Scanner::new(stream, delimiter, MAX_ROW_BYTES),
            columns: Vec::new(),
            record: Record::default(),
            is_headless: false,
            is_ahead: false,
            rows_read: 0,
            missing: options.keep_originals.then(Vec::new),
            missing_from: 0,
        };
        table.find_columns(&options.header)?;
        Ok(table)
    }

    fn find_columns(&mut self, header: &Header) -> Result<()> {
        let found = self.scanner.next(&mut self.record, MAX_COLUMNS);
        if !found.map_err(|fault| fault_error(&self.origin, 1, fault))? {
            return Err(RecordsError::Empty { path: self.origin.path.clone() });
        }
        let is_data = match header {
            Header::Named => false,
            Header::None { .. } => true,
            Header::Auto { columns } => !columns.is_empty() && self.looks_like_data(columns),
        };
        if is_data {
            (self.is_headless, self.is_ahead) = (true, true);
            self.columns = header.given().to_vec();
            return check_names(&self.origin.path, &self.columns);
        }
        self.read_header(header.given().is_empty())
    }

    /// Whether the first record is none that names these columns.
    fn looks_like_data(&self, columns: &[String]) -> bool {
        let text = |field| String::from_utf8_lossy(field).into_owned();
        let fields: Vec<_> = self.record.fields().map(text).collect();
        match numbers_only(&fields) {
            // Numbers can be names, but then all of them are there.
            Some(_) => !columns.iter().all(|name| fields.contains(name)),
            // A number among words is a row with a fault in it rather than a name.
            None => {
                let names_any = fields.iter().any(|field| columns.contains(field));
                !names_any && fields.iter().any(|field| field.trim().parse::<f64>().is_ok())
            }
        }
    }

    /// Makes names of the first record; numbers alone are taken for data if there is a `doubt`.
    fn read_header(&mut self, doubt: bool) -> Result<()> {
        let path = || self.origin.path.clone();
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
        if let Some(first) = numbers_only(&self.columns).filter(|_| doubt) {
            return Err(RecordsError::HeaderMissing { path: path(), first });
        }
        check_names(&self.origin.path, &self.columns)?;
        let more = self.scanner.skip_line_ends();
        if !more.map_err(|fault| fault_error(&self.origin, 1, fault))? {
            return Err(RecordsError::NoRows { path: path() });
        }
        Ok(())
    }

    fn row(&mut self) -> Row {
        let cell = |field| str::from_utf8(field).map(Cell::from_field);
        let cells = self.record.fields().map(cell).collect::<std::result::Result<Vec<_>, _>>();
        let reason = match (self.shape_fault(), cells) {
            (None, Ok(cells)) => {
                self.keep_missing(&cells);
                return Row::Cells(cells);
            }
            (None, Err(_)) => self.utf8_fault(),
            (Some(fault), _) => fault,
        };
        let text = |field| String::from_utf8_lossy(field).into_owned();
        let raw = self.record.fields().take(self.columns.len()).map(text).collect();
        Row::Bad { reason: format!("line {}: {reason}", self.record.line), raw }
    }

    /// Keeps the text of what is missing in the current row, if that is asked for.
    fn keep_missing(&mut self, cells: &[Cell]) {
        let Some(missing) = &mut self.missing else { return };
        let row = self.rows_read - 1 - self.missing_from;
        for (column, (cell, field)) in cells.iter().zip(self.record.fields()).enumerate() {
            if *cell == Cell::Missing && !field.is_empty() {
                let text = String::from_utf8_lossy(field).into_owned();
                missing.push(MissingField { row, column, text });
            }
        }
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
        let whose = if self.is_headless { "there should be" } else { "the header has" };
        (found != expected).then(|| {
            format!(
                "{found} fields where {whose} {expected}; quote fields that contain the \
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
        if !std::mem::take(&mut self.is_ahead) {
            let found = self.scanner.next(&mut self.record, self.columns.len());
            if !found.map_err(|fault| fault_error(&self.origin, self.rows_read + 1, fault))? {
                return Ok(None);
            }
        }
        self.rows_read += 1;
        Ok(Some(self.row()))
    }

    fn take_original(&mut self) -> Option<Original> {
        self.missing_from = self.rows_read;
        self.missing.as_mut().map(|missing| Original::Missing(std::mem::take(missing)))
    }
}

fn sample(start: &[u8]) -> Sample {
    Sample::of(start, (start.len() as u64) < SAMPLE_BYTES)
}

/// A tab, unless another delimiter is clearly meant.
fn tab(origin: &Origin, sample: &Sample) -> Result<u8> {
    match sample.other_than_tab() {
        None => Ok(b'\t'),
        Some(other) => {
            let (path, delimiter) = (origin.path.clone(), char::from(other));
            Err(RecordsError::WrongDelimiter { path, delimiter })
        }
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
