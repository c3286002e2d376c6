//! Rows from what people write by hand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};
use sngp_records::Cell;

use super::unique_keys::{TWICE, UniqueKeys};
use super::{Intake, Rows, number_cell, picture};
use crate::error::{Result, ServeError};
use crate::protocol::shown;

/// One row by hand, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Items {
    /// Several: answered with a list.
    Many(Vec<Map<String, Value>>),
    /// One: answered with one.
    One(Map<String, Value>),
}

impl Items {
    /// Reads a JSON body.
    pub fn parse(body: &[u8]) -> Result<Self> {
        // With a key twice, readers do not agree on which of the two is meant.
        let unique = serde_json::from_slice::<UniqueKeys>(body);
        unique.and_then(|UniqueKeys| serde_json::from_slice(body)).map_err(|error| {
            let reason = match error.to_string() {
                twice if twice.starts_with(TWICE) => twice,
                _ if error.is_data() => "an object or a list of such".into(),
                other => other,
            };
            ServeError::Invalid(format!("the body is not as it should be: {reason}"))
        })
    }

    /// Whether there is one, which is answered alone.
    pub fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

impl Intake {
    /// The rows of items: `{"text": ..}`, `{"features": {..}}`, `{"vector": [..]}` or
    /// `{"image": base64}`.
    ///
    /// ```
    /// use sngp_pipeline::{Field, FieldKind, Signature};
    /// use sngp_serve::rows::{Intake, Items};
    ///
    /// let text = Field {
    ///     name: "sentence".to_string(), kind: FieldKind::Text, shape: vec![-1],
    ///     optional: false, meaning: String::new(),
    /// };
    /// let signature = Signature { inputs: vec![text], outputs: vec![], labels: vec![] };
    /// let intake = Intake::new(&signature);
    /// let items = Items::parse(br#"[{"text": "hello"}, {"text": "good bye"}]"#)?;
    /// assert_eq!(intake.rows_of_items(&items, 10)?.len(), 2);
    /// let error = intake.rows_of_items(&Items::parse(br#"{"vector": [1]}"#)?, 10).unwrap_err();
    /// assert!(error.to_string().contains("`text`"));
    /// # Ok::<(), sngp_serve::ServeError>(())
    /// ```
    pub fn rows_of_items(&self, items: &Items, most: usize) -> Result<Rows> {
        let items = match items {
            Items::Many(items) => &items[..],
            Items::One(item) => std::slice::from_ref(item),
        };
        if items.is_empty() {
            return Err(ServeError::invalid("there are no rows"));
        }
        if items.len() > most {
            let found = items.len();
            let message = format!("{found} rows where {most} are allowed in a request");
            return Err(ServeError::TooLarge(message));
        }
        let at = |(row, error): (usize, ServeError)| match error {
            ServeError::Invalid(reason) if items.len() > 1 => {
                ServeError::Invalid(format!("row {}: {reason}", row + 1))
            }
            other => other,
        };
        let rows = items.iter().enumerate();
        if let Some(width) = self.width() {
            let vectors = rows.map(|(i, item)| self.vector(item, width).map_err(|e| at((i, e))));
            let values: Vec<Vec<f32>> = vectors.collect::<Result<_>>()?;
            return Ok(Rows::Vectors { width, values: values.concat() });
        }
        if self.takes_images() {
            let pictures = rows.map(|(i, item)| {
                let text = self.one(item, "image").map_err(|e| at((i, e)))?;
                let text = text.as_str().ok_or_else(|| {
                    at((i, ServeError::invalid("`image` is no text: send a file as base64")))
                })?;
                // A page sends `data:image/png;base64,..`.
                let text = text.split_once("base64,").map_or(text, |(_, data)| data);
                let bytes = STANDARD.decode(text.trim());
                let bytes = bytes.map_err(|error| format!("it is not base64: {error}"));
                Ok(bytes.and_then(|bytes| picture(&bytes)))
            });
            return Ok(Rows::Pictures(pictures.collect::<Result<_>>()?));
        }
        let cells = rows.map(|(i, item)| self.row(item).map_err(|e| at((i, e))));
        Ok(Rows::Cells(cells.collect::<Result<_>>()?))
    }

    /// The bytes of an image file as the only row.
    pub fn row_of_file(&self, file: &[u8]) -> Result<Rows> {
        match self.takes_images() {
            true => Ok(Rows::Pictures(vec![picture(file)])),
            false => Err(ServeError::Unreadable(format!("an image, but {}", self.describe()))),
        }
    }

    /// The only key of an item.
    fn one<'a>(&self, item: &'a Map<String, Value>, key: &str) -> Result<&'a Value> {
        match item.iter().next() {
            Some((found, value)) if found == key && item.len() == 1 => Ok(value),
            _ => {
                let found: Vec<String> = item.keys().map(|key| shown(key)).take(5).collect();
                let message = format!("a row is {{`{key}`: ..}}, not of {}", found.join(", "));
                Err(ServeError::Invalid(message))
            }
        }
    }

    fn vector(&self, item: &Map<String, Value>, width: usize) -> Result<Vec<f32>> {
        let value = self.one(item, "vector")?;
        let numbers = value.as_array().map(|list| list.iter().map(|v| v.as_f64()).collect());
        let numbers: Option<Option<Vec<f64>>> = numbers;
        let numbers = numbers.flatten();
        let numbers =
            numbers.ok_or_else(|| ServeError::invalid("`vector` is no list of numbers"))?;
        if numbers.len() != width {
            let found = numbers.len();
            let message = format!("`vector` has {found} numbers, the model takes {width}");
            return Err(ServeError::Invalid(message));
        }
        Ok(numbers.into_iter().map(|number| number as f32).collect())
    }

    fn row(&self, item: &Map<String, Value>) -> Result<Vec<Cell>> {
        if self.takes_text() {
            let text = self.one(item, "text")?;
            let text = text.as_str().ok_or_else(|| ServeError::invalid("`text` is no text"))?;
            return Ok(vec![Cell::Text(text.to_string())]);
        }
        let features = self.one(item, "features")?;
        let features = features
            .as_object()
            .ok_or_else(|| ServeError::invalid("`features` is no object of values by name"))?;
        if let Some(name) = features.keys().find(|name| !self.names.contains(name)) {
            let message = format!("no feature `{}`; {}", shown(name), self.describe());
            return Err(ServeError::Invalid(message));
        }
        let cell = |field: &sngp_pipeline::Field| match features.get(&field.name) {
            None if !field.optional => {
                let message = format!("no feature `{}`; {}", field.name, self.describe());
                Err(ServeError::Invalid(message))
            }
            None | Some(Value::Null) => Ok(Cell::Missing),
            Some(Value::Bool(value)) => Ok(Cell::Bool(*value)),
            Some(Value::Number(number)) => Ok(number_cell(number.as_f64().unwrap_or(f64::NAN))),
            Some(Value::String(text)) => Ok(Cell::from_field(text)),
            Some(_) => {
                let message = format!("feature `{}` is neither number nor text", field.name);
                Err(ServeError::Invalid(message))
            }
        };
        self.inputs.iter().map(cell).collect()
    }
}
