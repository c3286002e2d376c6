use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

use crate::error::{RecordsError, Result};
use crate::original::Original;

/// What stands for a missing value in delimited files, apart from nothing at all.
pub const MISSING: [&str; 7] = ["NA", "NaN", "nan", "null", "None", "?", ""];

/// Integers up to here are exact as `f64`.
const EXACT: u64 = 1 << 53;

/// One value of a table.
///
/// Cells of delimited files are [`Text`](Self::Text) or [`Missing`](Self::Missing): what a column
/// holds is decided later, over all of its rows.
///
/// ```
/// use sngp_records::Cell;
///
/// assert_eq!(Cell::from_field(" NA "), Cell::Missing);
/// assert_eq!(Cell::from_field("3.5"), Cell::Text("3.5".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// No value. A number that is "not a number" is missing as well.
    Missing,
    /// A number. An integer that `f64` cannot hold exactly is text instead, since it is a name.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// Text, as it stands in the file: nothing is trimmed.
    Text(String),
    /// A vector, such as an embedding; missing elements are not-a-number.
    List(Vec<f32>),
}

impl Cell {
    /// The cell for a field of a delimited file.
    ///
    /// Missing is what is empty, `NA`, `NaN`, `nan`, `null`, `None` or `?` apart from spaces
    /// around it.
    pub fn from_field(field: &str) -> Self {
        if MISSING.contains(&field.trim()) { Self::Missing } else { Self::Text(field.to_owned()) }
    }

    /// The cell as it is written to a delimited file; nothing for a missing one.
    ///
    /// ```
    /// use sngp_records::Cell;
    ///
    /// assert_eq!(Cell::Number(2.0).to_field(), "2");
    /// assert_eq!(Cell::List(vec![0.5, 1.0]).to_field(), "[0.5,1.0]");
    /// assert_eq!(Cell::Missing.to_field(), "");
    /// ```
    pub fn to_field(&self) -> Cow<'_, str> {
        match self {
            Self::Missing => Cow::Borrowed(""),
            Self::Number(number) => Cow::Owned(number_text(*number)),
            Self::Bool(value) => Cow::Borrowed(if *value { "true" } else { "false" }),
            Self::Text(text) => Cow::Borrowed(text),
            Self::List(values) => Cow::Owned(list_text(values)),
        }
    }

    /// What the cell holds, for messages.
    ///
    /// ```
    /// assert_eq!(sngp_records::Cell::Bool(true).kind(), "a boolean");
    /// ```
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Number(_) => "a number",
            Self::Bool(_) => "a boolean",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
        }
    }

    /// The bytes of its text or list.
    fn extra_bytes(&self) -> usize {
        match self {
            Self::Missing | Self::Number(_) | Self::Bool(_) => 0,
            Self::Text(text) => text.len(),
            Self::List(values) => size_of_val(values.as_slice()),
        }
    }

    pub(super) fn from_float(number: f64) -> Self {
        if number.is_nan() { Self::Missing } else { Self::Number(number) }
    }

    pub(super) fn from_unsigned(number: u64) -> Self {
        if number <= EXACT { Self::Number(number as f64) } else { Self::Text(number.to_string()) }
    }

    pub(super) fn from_signed(number: i64) -> Self {
        let exact = number.unsigned_abs() <= EXACT;
        if exact { Self::Number(number as f64) } else { Self::Text(number.to_string()) }
    }
}

/// The shortest text that reads back as the same number.
fn number_text(number: f64) -> String {
    // `Display` never uses an exponent, so it would write 1e300 with 300 zeros.
    let plain = number == number.trunc() && number.abs() < 1e15;
    if plain { number.to_string() } else { format!("{number:?}") }
}

/// A JSON list. JSON has no infinities, so they become null like not-a-number.
pub(super) fn list_text(values: &[f32]) -> String {
    let mut text = String::from("[");
    for (index, value) in values.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = match value.is_finite() {
            true => write!(text, "{comma}{value:?}"),
            false => write!(text, "{comma}null"),
        };
    }
    text + "]"
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// One cell per column.
    Cells(Vec<Cell>),
    /// A row that cannot be used.
    Bad {
        /// What is wrong, with the line and where possible the column.
        reason: String,
        /// The fields as far as they could be told apart, at most one per column; where the row
        /// is a line of JSON, the line.
        raw: Vec<String>,
    },
}

impl Row {
    /// Cells, and bytes beyond those that every cell takes.
    pub(crate) fn size(&self) -> (usize, usize) {
        match self {
            Self::Cells(cells) => (cells.len(), cells.iter().map(Cell::extra_bytes).sum()),
            Self::Bad { raw, .. } => (raw.len(), raw.iter().map(String::len).sum()),
        }
    }

    /// One cell per column, those of a bad row as far as they could be told apart.
    pub(crate) fn to_cells(&self, columns: usize) -> Vec<Cell> {
        let mut cells = match self {
            Self::Cells(cells) => cells.clone(),
            Self::Bad { raw, .. } => raw.iter().map(|field| Cell::from_field(field)).collect(),
        };
        cells.resize(columns, Cell::Missing);
        cells
    }
}

/// Consecutive rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// How many rows come before this chunk: the index, from 0, of its first row.
    pub first_row: usize,
    /// The rows, at least one.
    pub rows: Vec<Row>,
    /// Where it was asked to be kept and says more than the cells do.
    pub(crate) original: Option<Original>,
}

impl Chunk {
    /// Rows that come after `first_row` others.
    pub fn new(first_row: usize, rows: Vec<Row>) -> Self {
        Self { first_row, rows, original: None }
    }

    /// A cell as text: as it stands in a delimited file where originals are
    /// [kept](crate::ReadOptions::keep_originals), so that `NA` is not nothing.
    ///
    /// # Panics
    ///
    /// Where there is no such row, both counted from 0.
    ///
    /// ```
    /// use sngp_records::{Cell, Format, ReadOptions, Records, Row};
    ///
    /// let format = Some(Format::Csv);
    /// let options = ReadOptions { format, keep_originals: true, ..ReadOptions::default() };
    /// let mut records = Records::from_reader_with("pipe", options, "a,b\n007,NA\n".as_bytes())?;
    /// let chunk = records.next_chunk(10)?.unwrap();
    /// assert_eq!(chunk.rows[0], Row::Cells(vec![Cell::Text("007".to_owned()), Cell::Missing]));
    /// assert_eq!((chunk.field(0, 0), chunk.field(0, 1)), ("007".into(), "NA".into()));
    /// # Ok::<(), sngp_records::RecordsError>(())
    /// ```
    pub fn field(&self, row: usize, column: usize) -> Cow<'_, str> {
        match (&self.rows[row], &self.original) {
            (Row::Bad { raw, .. }, _) => Cow::Borrowed(raw.get(column).map_or("", String::as_str)),
            (Row::Cells(cells), Some(Original::Missing(fields)))
                if cells.get(column) == Some(&Cell::Missing) =>
            {
                let place = fields.binary_search_by_key(&(row, column), |f| (f.row, f.column));
                Cow::Borrowed(place.map_or("", |place| &fields[place].text))
            }
            (Row::Cells(cells), _) => cells.get(column).map_or(Cow::Borrowed(""), Cell::to_field),
        }
    }

    /// The line of JSON that the row was.
    pub(crate) fn line(&self, row: usize) -> Option<&str> {
        match (&self.rows[row], &self.original) {
            (Row::Cells(_), Some(Original::Lines(lines))) => lines.get(row).map(String::as_str),
            _ => None,
        }
    }

    /// The cells of all rows; a bad row is an error.
    ///
    /// # Errors
    ///
    /// [`RecordsError::BadRow`] for the first bad row, with `path` as the file's name.
    ///
    /// ```
    /// use sngp_records::{Chunk, Row};
    ///
    /// let bad = Row::Bad { reason: "line 8: 3 fields".to_owned(), raw: Vec::new() };
    /// let chunk = Chunk::new(6, vec![bad]);
    /// let error = chunk.into_cells("a.csv".as_ref()).unwrap_err();
    /// assert_eq!(error.to_string(), "a.csv, row 7: line 8: 3 fields");
    /// ```
    pub fn into_cells(self, path: &Path) -> Result<Vec<Vec<Cell>>> {
        let cells = self.rows.into_iter().enumerate().map(|(index, row)| match row {
            Row::Cells(cells) => Ok(cells),
            Row::Bad { reason, .. } => {
                let row = self.first_row + index + 1;
                Err(RecordsError::BadRow { path: path.to_owned(), row, reason })
            }
        });
        cells.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn missing_values_are_matched_exactly() {
        for field in ["", "  ", "NA", " NaN\t", "nan", "null", "None", "?"] {
            assert_eq!(Cell::from_field(field), Cell::Missing, "{field:?}");
        }
        for field in ["na", "NULL", "none", "n/a", "-", "0", "? ?", "\"\""] {
            assert_eq!(Cell::from_field(field), Cell::Text(field.to_owned()));
        }
    }

    #[test]
    fn large_integers_are_names() {
        assert_eq!(Cell::from_signed(-(1 << 53)), Cell::Number(-9007199254740992.0));
        assert_eq!(Cell::from_signed(i64::MIN), Cell::Text(i64::MIN.to_string()));
        assert_eq!(Cell::from_unsigned(u64::MAX), Cell::Text(u64::MAX.to_string()));
    }

    #[test]
    fn numbers_are_written_short() {
        for (number, expected) in
            [(1.0, "1"), (-0.5, "-0.5"), (1e300, "1e300"), (0.1 + 0.2, "0.30000000000000004")]
        {
            assert_eq!(Cell::Number(number).to_field(), expected);
        }
    }

    proptest! {
        #[test]
        fn numbers_read_back(number in any::<f64>()) {
            let text = Cell::Number(number).to_field().into_owned();
            prop_assert!(text.len() < 30);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.to_bits());
        }
    }
}
