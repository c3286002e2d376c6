use std::path::Path;

use serde_json::{Map, Value};

use super::super::error::{DatasetError, Place, Result};
use super::super::json::{keys, kind, parse_object};
use super::super::source::read_text;
use super::{Columns, Rows};

/// One object per line; blank lines hold no row and are passed over.
pub(super) fn read(path: &Path, columns: Columns) -> Result<Rows> {
    let mut rows = Rows::default();
    for (index, text) in read_text(path)?.lines().enumerate() {
        if text.trim().is_empty() {
            continue;
        }
        let line = Line { path, number: index + 1, object: parse_object(path, index + 1, text)? };
        rows.texts.push(line.text(columns.text)?);
        rows.labels.extend(columns.label.map(|column| line.label(column)).transpose()?);
    }
    Ok(rows)
}

struct Line<'a> {
    path: &'a Path,
    number: usize,
    object: Map<String, Value>,
}

impl Line<'_> {
    fn text(&self, column: &str) -> Result<String> {
        match self.value(column)? {
            Value::String(text) => Ok(text.clone()),
            other => Err(self.wrong_type(column, other, "a string")),
        }
    }

    fn label(&self, column: &str) -> Result<String> {
        match self.value(column)? {
            Value::String(label) => Ok(label.clone()),
            Value::Bool(label) => Ok(label.to_string()),
            Value::Number(label) if !label.is_f64() => Ok(label.to_string()),
            other => Err(self.wrong_type(column, other, "a string, an integer or a boolean")),
        }
    }

    fn value(&self, column: &str) -> Result<&Value> {
        match self.object.get(column) {
            Some(Value::Null) => Err(DatasetError::Null {
                path: self.path.to_owned(),
                place: Place::Line(self.number),
                column: column.to_owned(),
            }),
            Some(value) => Ok(value),
            None => Err(DatasetError::MissingKey {
                path: self.path.to_owned(),
                line: self.number,
                key: column.to_owned(),
                present: keys(&self.object),
            }),
        }
    }

    fn wrong_type(&self, column: &str, value: &Value, expected: &'static str) -> DatasetError {
        DatasetError::WrongType {
            path: self.path.to_owned(),
            place: Place::Line(self.number),
            column: column.to_owned(),
            found: kind(value),
            expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Scratch;
    use super::super::super::text_set::TextSet;
    use super::super::{read_table, read_texts};
    use super::*;

    fn read_lines(contents: impl AsRef<[u8]>) -> Result<TextSet> {
        read_table(&Scratch::file("a.jsonl", contents).path, "text", "label")
    }

    fn message(contents: impl AsRef<[u8]>) -> String {
        read_lines(contents).unwrap_err().to_string()
    }

    #[test]
    fn labels_may_be_strings_integers_and_booleans() {
        let set = read_lines(
            "\u{feff}{\"text\": \"a\\nb\", \"label\": \"x\"}\r\n\n\
             {\"label\": -7, \"text\": \"\", \"more\": [1]}\n\
             {\"label\": 18446744073709551615, \"text\": \"c\"}\n\
             {\"label\": true, \"text\": \"d\"}",
        )
        .unwrap();
        assert_eq!(set.texts, ["a\nb", "", "c", "d"]);
        assert_eq!(set.labels, ["x", "-7", "18446744073709551615", "true"]);
    }

    #[test]
    fn texts_alone_need_no_label() {
        let file = Scratch::file("a.ndjson", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n");
        assert_eq!(read_texts(&file.path, "text").unwrap(), ["a", "b"]);
    }

    #[test]
    fn errors_name_the_line() {
        for (second, expected) in [
            ("{\"text\": \"a\"}", "line 3: no key \"label\"; the keys of this line are [\"text\"]"),
            ("{\"text\": null, \"label\": 1}", "line 3: \"text\" is null; fill it in"),
            ("{\"text\": \"a\", \"label\": null}", "line 3: \"label\" is null; fill it in"),
            ("{\"text\": 5, \"label\": 1}", "line 3: \"text\" is an integer but must be a string"),
            ("{\"text\": \"a\", \"label\": 1.5}", "line 3: \"label\" is a fractional or too"),
            ("{\"text\": \"a\", \"label\": [1]}", "line 3: \"label\" is a list but must be a"),
            ("[\"a\", 1]", "line 3: a list where an object {...} is needed"),
            ("{\"text\": \"a\",}", "line 3, column 14: not valid JSON: trailing comma; repair"),
        ] {
            let message = message(format!("{{\"text\": \"ok\", \"label\": 1}}\n\n{second}\n"));
            assert!(message.contains("a.jsonl, ") && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn invalid_utf8_is_placed_by_line_and_byte() {
        let message = message(b"{\"text\": \"a\", \"label\": 1}\n{\"text\": \"\xff\"}\n");
        assert!(message.contains("a.jsonl, line 2, byte offset 36: not valid"), "{message}");
    }
}
