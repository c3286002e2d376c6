use std::path::Path;

use serde_json::{Map, Value};

use super::error::{DatasetError, Result};
use super::json::{keys, kind, read_object};
use super::text_set::TextSet;

const PAIR: &str = "a [text, label] pair of strings";

/// The CLINC OOS intent data: in-scope splits with labels and out-of-scope sentences without.
///
/// Reads `data_full.json`, `data_small.json`, `data_imbalanced.json` and `data_oos_plus.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clinc {
    /// In-scope training sentences (key `train`).
    pub train: TextSet,
    /// In-scope validation sentences (key `val`).
    pub validation: TextSet,
    /// In-scope test sentences (key `test`).
    pub test: TextSet,
    /// Out-of-scope training sentences (key `oos_train`), possibly none.
    pub out_of_scope_train: Vec<String>,
    /// Out-of-scope validation sentences (key `oos_val`), possibly none.
    pub out_of_scope_validation: Vec<String>,
    /// Out-of-scope test sentences (key `oos_test`), possibly none.
    pub out_of_scope_test: Vec<String>,
}

impl Clinc {
    /// Reads all six lists of a CLINC OOS file.
    ///
    /// # Errors
    ///
    /// Where the file is unreadable or not JSON, a key is missing, an in-scope list is empty, or
    /// an item is not a pair of strings; the message names file, key and item.
    ///
    /// ```no_run
    /// let clinc = sngp_lab::dataset::text::Clinc::read("clinc/data_full.json")?;
    /// assert_eq!(clinc.train.label_names().len(), 150);
    /// # Ok::<(), sngp_lab::dataset::text::DatasetError>(())
    /// ```
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let lists = Lists { path, object: read_object(path)? };
        Ok(Self {
            train: lists.in_scope("train")?,
            validation: lists.in_scope("val")?,
            test: lists.in_scope("test")?,
            out_of_scope_train: lists.pairs("oos_train")?.texts,
            out_of_scope_validation: lists.pairs("oos_val")?.texts,
            out_of_scope_test: lists.pairs("oos_test")?.texts,
        })
    }
}

struct Lists<'a> {
    path: &'a Path,
    object: Map<String, Value>,
}

impl Lists<'_> {
    fn in_scope(&self, key: &'static str) -> Result<TextSet> {
        let set = self.pairs(key)?;
        if set.is_empty() {
            return Err(self.shape_error(key, None, "an empty list", "at least one pair"));
        }
        Ok(set)
    }

    fn pairs(&self, key: &'static str) -> Result<TextSet> {
        let mut set = TextSet::default();
        for (index, item) in self.list(key)?.iter().enumerate() {
            let (text, label) =
                pair(item).map_err(|found| self.shape_error(key, Some(index + 1), &found, PAIR))?;
            set.texts.push(text.to_owned());
            set.labels.push(label.to_owned());
        }
        Ok(set)
    }

    fn list(&self, key: &'static str) -> Result<&[Value]> {
        match self.object.get(key) {
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(self.shape_error(key, None, kind(other), "a list of pairs")),
            None => Err(DatasetError::ClincKey {
                path: self.path.to_owned(),
                key,
                present: keys(&self.object),
            }),
        }
    }

    fn shape_error(
        &self,
        key: &'static str,
        position: Option<usize>,
        found: &str,
        expected: &'static str,
    ) -> DatasetError {
        let (path, found) = (self.path.to_owned(), found.to_owned());
        DatasetError::ClincShape { path, key, position, found, expected }
    }
}

/// The text and label of a pair, or what was found instead.
fn pair(item: &Value) -> std::result::Result<(&str, &str), String> {
    let Value::Array(parts) = item else { return Err(kind(item).to_owned()) };
    match parts.as_slice() {
        [Value::String(text), Value::String(label)] => Ok((text, label)),
        [text, label] => Err(format!("a pair of {} and {}", kind(text), kind(label))),
        parts => Err(format!("a list of length {}", parts.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Scratch, real_data};
    use super::*;

    const GOOD: &str = r#"{
        "train": [["book a table", "restaurant"], ["", "none"]],
        "val": [["hi", "greet"]], "test": [["bye", "leave"]],
        "oos_train": [["why is the sky blue", "oos"]], "oos_val": [],
        "oos_test": [["who won", "oos"]], "more": 1
    }"#;

    fn read(json: &str) -> Result<Clinc> {
        Clinc::read(&Scratch::file("data.json", json).path)
    }

    fn message(json: &str) -> String {
        read(json).unwrap_err().to_string()
    }

    #[test]
    fn reads_all_six_lists() {
        let clinc = read(GOOD).unwrap();
        assert_eq!(clinc.train.texts, ["book a table", ""]);
        assert_eq!(clinc.train.labels, ["restaurant", "none"]);
        assert_eq!(clinc.validation.texts, ["hi"]);
        assert_eq!(clinc.test.labels, ["leave"]);
        assert_eq!(clinc.out_of_scope_train, ["why is the sky blue"]);
        assert!(clinc.out_of_scope_validation.is_empty());
        assert_eq!(clinc.out_of_scope_test, ["who won"]);
    }

    #[test]
    fn missing_key_is_named_with_those_present() {
        let message = message(&GOOD.replace("oos_val", "oos_valid"));
        assert!(message.contains("data.json has no key \"oos_val\""), "{message}");
        assert!(message.contains("\"oos_valid\""), "{message}");
    }

    #[test]
    fn wrong_shapes_name_key_and_item() {
        for (from, to, expected) in [
            (r#"["", "none"]"#, r#"["", 3]"#, r#"key "train", item 2: a pair of a string and an"#),
            (r#"["", "none"]"#, r#"["none"]"#, r#"key "train", item 2: a list of length 1 where"#),
            (r#"["", "none"]"#, "null", r#"key "train", item 2: null where a [text, label] pair"#),
            (r#"[["hi", "greet"]]"#, "{}", r#"key "val": an object where a list of pairs"#),
            (r#"[["hi", "greet"]]"#, "[]", r#"key "val": an empty list where at least one"#),
        ] {
            let message = message(&GOOD.replace(from, to));
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn broken_json_is_placed() {
        let error = read(&GOOD.replace("\"val\":", "\"val\"")).unwrap_err();
        assert!(matches!(error, DatasetError::Json { line: 3, .. }), "{error}");
        assert!(message("").contains("line 1, column 0: not valid JSON: EOF while parsing"));
        assert!(message("[]").contains("data.json: a list where an object {...} is needed"));
    }

    #[test]
    fn real_files_have_the_published_sizes() {
        let Some(folder) = real_data("clinc") else { return };
        for (file, train, out_of_scope_train) in
            [("data_full", 15000, 100), ("data_small", 7500, 100), ("data_oos_plus", 15000, 250)]
        {
            let clinc = Clinc::read(folder.join(file).with_extension("json")).unwrap();
            let in_scope = [clinc.train.len(), clinc.validation.len(), clinc.test.len()];
            assert_eq!(in_scope, [train, 3000, 4500]);
            assert_eq!(clinc.out_of_scope_train.len(), out_of_scope_train);
            assert_eq!(clinc.out_of_scope_validation.len(), 100);
            assert_eq!(clinc.out_of_scope_test.len(), 1000);
            assert_eq!(clinc.train.label_names().len(), 150);
            assert!(clinc.test.indices(&clinc.train.label_names()).is_ok());
        }
    }
}
