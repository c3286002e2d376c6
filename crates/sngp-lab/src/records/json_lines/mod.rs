mod line;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

use super::cell::{Cell, Row};
use super::columns::{MAX_COLUMNS, check_names};
use super::error::{RecordsError, Result};
use super::input::{Input, MAX_ROW_BYTES, Origin, Stream};
use super::source::Source;
use line::{Line, cell, is_nested, parse};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The lines whose keys are the columns, unless they take more bytes than one row may.
const SAMPLE_LINES: usize = 100;

/// A warning lists this many names, since every line may bring another.
const MAX_LISTED: usize = 20;

/// One object per line; blank lines hold no row and are passed over.
pub(super) struct JsonLines {
    origin: Origin,
    reader: BufReader<Stream>,
    buffer: Vec<u8>,
    line: usize,
    rows_read: usize,
    /// Lines read to find the columns and not handed out yet.
    sample: VecDeque<(usize, Line)>,
    columns: Vec<String>,
    positions: HashMap<String, usize>,
    /// For each column the last row it was in, to find keys that are there twice.
    last_rows: Vec<usize>,
    unknown: BTreeSet<String>,
    nested: BTreeSet<usize>,
}

impl JsonLines {
    pub(super) fn open(input: Input) -> Result<Self> {
        let mut table = Self {
            origin: input.origin,
            reader: BufReader::with_capacity(64 << 10, input.stream),
            buffer: Vec::new(),
            line: 0,
            rows_read: 0,
            sample: VecDeque::new(),
            columns: Vec::new(),
            positions: HashMap::new(),
            last_rows: Vec::new(),
            unknown: BTreeSet::new(),
            nested: BTreeSet::new(),
        };
        table.find_columns()?;
        Ok(table)
    }

    fn find_columns(&mut self) -> Result<()> {
        let path = self.origin.path.clone();
        let mut bytes = 0;
        while self.sample.len() < SAMPLE_LINES && bytes < MAX_ROW_BYTES {
            let Some((number, line)) = self.next_line()? else { break };
            bytes += self.buffer.len();
            if let Line::Object(entries) = &line {
                for (key, _) in entries {
                    if !self.positions.contains_key(key) {
                        self.positions.insert(key.clone(), self.columns.len());
                        self.columns.push(key.clone());
                    }
                }
            }
            if matches!(line, Line::TooManyKeys) || self.columns.len() > MAX_COLUMNS {
                return Err(RecordsError::TooManyColumns { path, limit: MAX_COLUMNS });
            }
            self.sample.push_back((number, line));
        }
        // Without any object the first line says best what is wrong.
        let no_object = self.sample.iter().all(|(_, line)| matches!(line, Line::Bad { .. }));
        match self.sample.front() {
            None => return Err(RecordsError::Empty { path }),
            Some((_, Line::Bad { reason, .. })) if no_object => {
                return Err(RecordsError::BadRow { path, row: 1, reason: reason.clone() });
            }
            Some(_) => check_names(&path, &self.columns)?,
        }
        self.last_rows = vec![0; self.columns.len()];
        Ok(())
    }

    /// The next line that is not blank, with its number from 1.
    fn next_line(&mut self) -> Result<Option<(usize, Line)>> {
        loop {
            self.buffer.clear();
            let mut limited = self.reader.by_ref().take(MAX_ROW_BYTES as u64 + 1);
            let read = limited.read_until(b'\n', &mut self.buffer);
            let row = self.rows_read + self.sample.len() + 1;
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
            let text = self.buffer.strip_prefix(start).unwrap_or(&self.buffer).trim_ascii();
            if !text.is_empty() {
                return Ok(Some((line, parse(line, text))));
            }
        }
    }

    fn row(&mut self, number: usize, line: Line) -> Row {
        match line {
            Line::Object(entries) => self.cells(number, entries),
            Line::TooManyKeys => {
                let reason = format!("line {number}: more than {MAX_COLUMNS} keys in one object");
                Row::Bad { reason, raw: Vec::new() }
            }
            Line::Bad { reason, raw } => Row::Bad { reason, raw: vec![raw] },
        }
    }

    fn cells(&mut self, number: usize, entries: Vec<(String, Value)>) -> Row {
        let mut cells = vec![Cell::Missing; self.columns.len()];
        for (key, value) in entries {
            let Some(&index) = self.positions.get(&key) else {
                if self.unknown.len() <= MAX_LISTED {
                    self.unknown.insert(key);
                }
                continue;
            };
            if self.last_rows[index] == self.rows_read {
                let raw = cells.iter().map(|cell| cell.to_field().into_owned()).collect();
                let reason = format!("line {number}: the key {key:?} is there twice");
                return Row::Bad { reason, raw };
            }
            self.last_rows[index] = self.rows_read;
            if is_nested(&value) {
                self.nested.insert(index);
            }
            cells[index] = cell(value);
        }
        Row::Cells(cells)
    }
}

impl Source for JsonLines {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        let line = match self.sample.pop_front() {
            Some(line) => Some(line),
            None => self.next_line()?,
        };
        self.rows_read += usize::from(line.is_some());
        Ok(line.map(|(number, line)| self.row(number, line)))
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.unknown.is_empty() {
            let names: Vec<_> = self.unknown.iter().take(MAX_LISTED).collect();
            let more = if self.unknown.len() > MAX_LISTED { " and more" } else { "" };
            warnings.push(format!(
                "{}: passed over keys that the first {SAMPLE_LINES} lines do not have: \
                 {names:?}{more}",
                self.origin.path.display()
            ));
        }
        if !self.nested.is_empty() {
            let names = self.nested.iter().take(MAX_LISTED).map(|&index| &self.columns[index]);
            warnings.push(format!(
                "{}: objects, and lists of other things than numbers, are read as JSON text in \
                 the columns {:?}",
                self.origin.path.display(),
                names.collect::<Vec<_>>()
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests;
