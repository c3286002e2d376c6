mod line;

use std::collections::{BTreeSet, HashMap, VecDeque};

use serde_json::Value;

use crate::cell::{Cell, Row};
use crate::columns::{MAX_COLUMNS, MAX_LISTED, check_names};
use crate::error::{RecordsError, Result};
use crate::input::{Input, MAX_ROW_BYTES};
use crate::lines::LineReader;
use crate::original::Original;
use crate::source::Source;
use line::{Line, cell, is_nested, parse};

/// The lines whose keys are the columns, unless they take more bytes than one row may.
const SAMPLE_LINES: usize = 100;

/// One object per line; blank lines hold no row and are passed over.
pub(super) struct JsonLines {
    reader: LineReader,
    rows_read: usize,
    /// Lines read to find the columns and not handed out yet.
    sample: VecDeque<Read>,
    /// The text of the lines handed out since it was last asked for, where it is kept.
    original: Option<Vec<String>>,
    columns: Vec<String>,
    positions: HashMap<String, usize>,
    /// For each column the last row it was in, to find keys that are there twice.
    last_rows: Vec<usize>,
    unknown: BTreeSet<String>,
    nested: BTreeSet<usize>,
}

/// A line that is not blank.
struct Read {
    /// Counted from 1.
    number: usize,
    line: Line,
    /// Its text where that is kept.
    text: Option<String>,
}

impl JsonLines {
    pub(super) fn open(input: Input, keep_originals: bool) -> Result<Self> {
        let mut table = Self {
            reader: LineReader::new(input),
            rows_read: 0,
            sample: VecDeque::new(),
            original: keep_originals.then(Vec::new),
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
        let path = self.reader.origin.path.clone();
        let mut bytes = 0;
        while self.sample.len() < SAMPLE_LINES && bytes < MAX_ROW_BYTES {
            let Some(read) = self.next_line(&mut bytes)? else { break };
            if let Line::Object(entries) = &read.line {
                for (key, _) in entries {
                    if !self.positions.contains_key(key) {
                        self.positions.insert(key.clone(), self.columns.len());
                        self.columns.push(key.clone());
                    }
                }
            }
            if matches!(read.line, Line::TooManyKeys) || self.columns.len() > MAX_COLUMNS {
                return Err(RecordsError::TooManyColumns { path, limit: MAX_COLUMNS });
            }
            self.sample.push_back(read);
        }
        // Without any object the first line says best what is wrong.
        let no_object = self.sample.iter().all(|read| matches!(read.line, Line::Bad { .. }));
        match self.sample.front().map(|read| &read.line) {
            None => return Err(RecordsError::Empty { path }),
            Some(Line::Bad { reason, .. }) if no_object => {
                return Err(RecordsError::BadRow { path, row: 1, reason: reason.clone() });
            }
            Some(_) => check_names(&path, &self.columns)?,
        }
        self.last_rows = vec![0; self.columns.len()];
        Ok(())
    }

    /// The next line that is not blank; adds its length to `bytes`.
    fn next_line(&mut self, bytes: &mut usize) -> Result<Option<Read>> {
        let row = self.rows_read + self.sample.len() + 1;
        while let Some((number, text)) = self.reader.next(row)? {
            let text = text.trim_ascii();
            if !text.is_empty() {
                *bytes += text.len();
                let line = parse(number, text);
                let text = self.original.is_some().then(|| String::from_utf8_lossy(text).into());
                return Ok(Some(Read { number, line, text }));
            }
        }
        Ok(None)
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
        let read = match self.sample.pop_front() {
            Some(read) => read,
            None => match self.next_line(&mut 0)? {
                Some(read) => read,
                None => return Ok(None),
            },
        };
        self.rows_read += 1;
        if let Some(original) = &mut self.original {
            original.extend(read.text);
        }
        Ok(Some(self.row(read.number, read.line)))
    }

    fn take_original(&mut self) -> Option<Original> {
        self.original.as_mut().map(|lines| Original::Lines(std::mem::take(lines)))
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.unknown.is_empty() {
            let names: Vec<_> = self.unknown.iter().take(MAX_LISTED).collect();
            let more = if self.unknown.len() > MAX_LISTED { " and more" } else { "" };
            warnings.push(format!(
                "{}: passed over keys that the first {SAMPLE_LINES} lines do not have: \
                 {names:?}{more}",
                self.reader.origin.path.display()
            ));
        }
        if !self.nested.is_empty() {
            let names = self.nested.iter().take(MAX_LISTED).map(|&index| &self.columns[index]);
            warnings.push(format!(
                "{}: objects, and lists of other things than numbers, are read as JSON text in \
                 the columns {:?}",
                self.reader.origin.path.display(),
                names.collect::<Vec<_>>()
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests;
