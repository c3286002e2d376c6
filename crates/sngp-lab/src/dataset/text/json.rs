use std::path::Path;

use serde_json::{Map, Value};

use super::error::{DatasetError, Result};

/// Parses one JSON object whose text starts on `first_line` of the file.
pub(super) fn parse_object(
    path: &Path,
    first_line: usize,
    text: &str,
) -> Result<Map<String, Value>> {
    let value =
        serde_json::from_str(text).map_err(|error| syntax_error(path, first_line, error))?;
    match value {
        Value::Object(object) => Ok(object),
        other => Err(DatasetError::NotAnObject {
            path: path.to_owned(),
            line: first_line,
            found: kind(&other),
        }),
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

fn syntax_error(path: &Path, first_line: usize, error: serde_json::Error) -> DatasetError {
    let message = error.to_string();
    // serde_json counts lines within the text it was given, so its own suffix would mislead.
    let cause = message.rsplit_once(" at line ").map_or(message.as_str(), |(cause, _)| cause);
    DatasetError::Json {
        path: path.to_owned(),
        line: first_line + error.line().saturating_sub(1),
        column: error.column(),
        cause: cause.to_owned(),
    }
}
