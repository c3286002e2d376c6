use std::fmt;
use std::str;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Number, Value};

use crate::cell::Cell;
use crate::columns::MAX_COLUMNS;

/// What a line of JSON Lines holds.
pub(super) enum Line {
    /// Keys and values in the order of the line, which `serde_json`'s own map does not keep.
    Object(Vec<(String, Value)>),
    TooManyKeys,
    Bad {
        reason: String,
        raw: String,
    },
}

/// Parses the line of this number.
pub(super) fn parse(line: usize, bytes: &[u8]) -> Line {
    let bad = |reason: String| {
        let raw = String::from_utf8_lossy(bytes).into_owned();
        Line::Bad { reason: format!("line {line}{reason}"), raw }
    };
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let byte = error.valid_up_to() + 1;
            return bad(format!(", column {byte}: not valid UTF-8; convert the file to UTF-8"));
        }
    };
    match serde_json::from_str(text) {
        Ok(Entries(Some(entries))) => Line::Object(entries),
        Ok(Entries(None)) => Line::TooManyKeys,
        Err(error) if error.classify() == Category::Data => {
            bad(format!(": {} where an object {{...}} is needed", kind(text)))
        }
        Err(error) => {
            let message = error.to_string();
            // serde_json counts lines within the text it was given, so its suffix would mislead.
            let cause = message.rsplit_once(" at line ").map_or(&*message, |(cause, _)| cause);
            bad(format!(", column {}: not valid JSON: {cause}", error.column()))
        }
    }
}

fn kind(text: &str) -> &'static str {
    match text.as_bytes().first() {
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    }
}

/// `None` for more keys than there may be columns: those are counted out, not kept.
struct Entries(Option<Vec<(String, Value)>>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            if entries.len() == MAX_COLUMNS {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(Entries(None));
            }
            entries.push(entry);
        }
        Ok(Entries(Some(entries)))
    }
}

pub(super) fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Missing,
        Value::Bool(value) => Cell::Bool(value),
        Value::Number(number) => number_cell(&number),
        Value::String(text) => Cell::Text(text),
        Value::Array(values) => match list(&values) {
            Some(list) => Cell::List(list),
            None => Cell::Text(Value::Array(values).to_string()),
        },
        Value::Object(_) => Cell::Text(value.to_string()),
    }
}

/// Whether [`cell`] makes JSON text of the value.
pub(super) fn is_nested(value: &Value) -> bool {
    match value {
        Value::Array(values) => list(values).is_none(),
        other => other.is_object(),
    }
}

fn number_cell(number: &Number) -> Cell {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(unsigned), ..) => Cell::from_unsigned(unsigned),
        (None, Some(signed), _) => Cell::from_signed(signed),
        (None, None, Some(float)) => Cell::from_float(float),
        (None, None, None) => Cell::Text(number.to_string()),
    }
}

fn list(values: &[Value]) -> Option<Vec<f32>> {
    let element = |value: &Value| match value {
        Value::Null => Some(f32::NAN),
        other => other.as_f64().map(|number| number as f32),
    };
    values.iter().map(element).collect()
}
