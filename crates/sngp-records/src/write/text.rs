use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::de::IgnoredAny;
use serde_json::Value;

use super::target::Target;
use crate::cell::{Cell, Chunk, list_text};

/// Writes CSV, TSV and JSON Lines.
pub(super) struct TextEncoder {
    layout: Layout,
    target: Target,
    /// What has been encoded but not written.
    buffer: String,
}

enum Layout {
    Delimited(char),
    /// JSON objects with these keys, quoted and with their colon.
    Objects(Vec<String>),
}

impl TextEncoder {
    /// CSV or TSV; starts with the header.
    pub(super) fn delimited(delimiter: char, columns: &[String], target: Target) -> Self {
        let buffer = delimited_line(delimiter, columns.iter().map(String::as_str));
        Self { layout: Layout::Delimited(delimiter), target, buffer }
    }

    /// JSON Lines.
    pub(super) fn objects(columns: &[String], target: Target) -> Self {
        let key = |name: &String| format!("{}:", Value::from(name.as_str()));
        let layout = Layout::Objects(columns.iter().map(key).collect());
        Self { layout, target, buffer: String::new() }
    }

    pub(super) fn write(&mut self, rows: &[Vec<Cell>]) -> io::Result<()> {
        for row in rows {
            let line = match &self.layout {
                Layout::Delimited(delimiter) => {
                    let fields: Vec<_> = row.iter().map(Cell::to_field).collect();
                    delimited_line(*delimiter, fields.iter().map(AsRef::as_ref))
                }
                Layout::Objects(keys) => object_line(keys, row),
            };
            self.buffer.push_str(&line);
        }
        self.write_buffer()?;
        self.target.end_batch()
    }

    pub(super) fn write_beside(
        &mut self,
        chunk: &Chunk,
        beside: &[Vec<Cell>],
        columns: usize,
    ) -> io::Result<()> {
        for (row, more) in beside.iter().enumerate() {
            let own = columns - more.len();
            let line = match &self.layout {
                Layout::Delimited(delimiter) => {
                    let fields = (0..own).map(|column| chunk.field(row, column));
                    let fields: Vec<_> = fields.chain(more.iter().map(Cell::to_field)).collect();
                    delimited_line(*delimiter, fields.iter().map(AsRef::as_ref))
                }
                Layout::Objects(keys) => match chunk.line(row) {
                    Some(line) if !has_any_key(line, &keys[own..]) => {
                        extended_line(line, &keys[own..], more)
                    }
                    // A key that is to be added is there already: columns have other names then.
                    _ => {
                        let mut cells = chunk.rows[row].to_cells(own);
                        cells.extend_from_slice(more);
                        object_line(keys, &cells)
                    }
                },
            };
            self.buffer.push_str(&line);
        }
        self.write_buffer()?;
        self.target.end_batch()
    }

    pub(super) fn finish(mut self) -> io::Result<Target> {
        self.write_buffer()?;
        Ok(self.target)
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        self.target.write_all(self.buffer.as_bytes())?;
        self.buffer.clear();
        Ok(())
    }
}

fn delimited_line<'a>(delimiter: char, fields: impl Iterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (index, field) in fields.enumerate() {
        if index > 0 {
            line.push(delimiter);
        }
        match needs_quotes(field) {
            true => line.extend(["\"", &field.replace('"', "\"\""), "\""]),
            false => line.push_str(field),
        }
    }
    if line.is_empty() {
        // A blank line would hold no row at all.
        line.push_str("\"\"");
    }
    line.push('\n');
    line
}

/// All delimiters are quoted, not only the one used, so that no reader can mistake them; and the
/// byte order mark, which would be lost at the start of the file.
fn needs_quotes(field: &str) -> bool {
    field.contains([',', ';', '\t', '|', '"', '\n', '\r']) || field.starts_with('\u{feff}')
}

/// Whether an object has one of these keys, which are quoted and with their colon.
fn has_any_key(object: &str, keys: &[String]) -> bool {
    let quoted = |key: &String| key.trim_end_matches(':').to_string();
    // Most lines have no such word anywhere, and nothing written otherwise than it reads.
    let may = object.contains('\\') || keys.iter().any(|key| object.contains(&quoted(key)));
    let found = || serde_json::from_str::<BTreeMap<String, IgnoredAny>>(object).ok();
    may && found().is_none_or(|found| {
        found.keys().any(|name| keys.contains(&format!("{}:", Value::from(name.as_str()))))
    })
}

fn object_line(keys: &[String], row: &[Cell]) -> String {
    extended_line("{}", keys, row)
}

/// A line that holds an object, with further keys at its end.
fn extended_line(object: &str, keys: &[String], row: &[Cell]) -> String {
    let open = object.strip_suffix('}').unwrap_or(object).trim_end();
    let mut line = open.to_owned();
    for (key, cell) in keys.iter().zip(row) {
        if !line.ends_with('{') {
            line.push(',');
        }
        line.push_str(key);
        match cell {
            Cell::Number(number) if !number.is_finite() => line.push_str("null"),
            Cell::Missing => line.push_str("null"),
            Cell::Number(_) | Cell::Bool(_) => line.push_str(&cell.to_field()),
            Cell::Text(text) => line.push_str(&Value::from(text.as_str()).to_string()),
            Cell::List(values) => line.push_str(&list_text(values)),
        }
    }
    line + "}\n"
}
