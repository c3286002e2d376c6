use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::error::{DatasetError, Result};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The one object that a file holds.
pub(super) fn read_object(path: &Path) -> Result<Map<String, Value>> {
    let bytes =
        fs::read(path).map_err(|cause| DatasetError::Io { path: path.to_owned(), cause })?;
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    match serde_json::from_slice(text).map_err(|error| syntax_error(path, error))? {
        Value::Object(object) => Ok(object),
        other => Err(DatasetError::NotAnObject { path: path.to_owned(), found: kind(&other) }),
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a fractional or too large number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

pub(super) fn keys(object: &Map<String, Value>) -> Vec<String> {
    object.keys().cloned().collect()
}

fn syntax_error(path: &Path, error: serde_json::Error) -> DatasetError {
    let message = error.to_string();
    // The place stands in fields of its own.
    let cause = message.rsplit_once(" at line ").map_or(message.as_str(), |(cause, _)| cause);
    DatasetError::Json {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        cause: cause.to_owned(),
    }
}
