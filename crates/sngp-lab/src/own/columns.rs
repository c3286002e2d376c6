//! Columns of a table as numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::records::Cell;

/// A column is one of numbers if at least this share of its values are.
const NUMERIC_SHARE: f64 = 0.95;
/// A category counts if it is seen so often, and is among so many of the most frequent ones.
const CATEGORY_LEAST: usize = 2;
const CATEGORIES: usize = 100;
/// Columns with a longer tail than this are taken by their logarithm.
const SKEWED: f64 = 3.0;

/// How the columns of a table become a vector. It is learned from the training rows and saved with
/// the model, so that prediction takes raw rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRecipe {
    /// The columns that are used, in the order of the vector.
    pub columns: Vec<Column>,
    /// The ones that are not, with the reason.
    pub ignored: Vec<Ignored>,
}

/// A column that is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// How it is encoded.
    pub encoding: Encoding,
    /// Training rows without a value.
    pub missing: usize,
}

/// A column that is not used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ignored {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// How a column is encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Encoding {
    /// `(x - mean) / scale`, of `ln(1 + x - least)` where the column has a long tail; where
    /// training rows lacked a value, a second number says so.
    Number {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        scale: f64,
        /// The least value, for columns taken by their logarithm.
        least: Option<f64>,
    },
    /// One number a value; all zero for a value that was never or hardly seen.
    Category {
        /// The values.
        values: Vec<String>,
    },
}

/// Why a row has no vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCell {
    /// The column.
    pub column: String,
    /// What is wrong.
    pub reason: String,
}

impl TableRecipe {
    /// Learns the encoding of all columns but the named ones.
    ///
    /// ```
    /// use sngp_lab::own::TableRecipe;
    /// use sngp_lab::records::Cell;
    ///
    /// let text = |t: &str| Cell::Text(t.to_string());
    /// let rows = [("1.5", "red"), ("2.5", "blue"), ("3.5", "red"), ("0.5", "blue")]
    ///     .map(|(size, colour)| vec![text(size), text(colour)]);
    /// let names = ["size".to_string(), "colour".to_string()];
    /// let recipe = TableRecipe::learn(&names, &rows, &[])?;
    /// assert_eq!(recipe.width(), 3);
    /// let vector = recipe.encode(&recipe.locate(&names)?, &[text("2.0"), text("green")])?;
    /// assert_eq!(vector, [0.0, 0.0, 0.0]);
    /// # Ok::<(), sngp_lab::own::BadCell>(())
    /// ```
    pub fn learn(
        names: &[String],
        rows: &[Vec<Cell>],
        left_out: &[String],
    ) -> Result<Self, BadCell> {
        let mut recipe = Self { columns: Vec::new(), ignored: Vec::new() };
        for (index, name) in names.iter().enumerate() {
            if left_out.contains(name) {
                continue;
            }
            let cells: Vec<&Cell> = rows.iter().map(|row| &row[index]).collect();
            match learn_column(name, &cells)? {
                Ok(encoding) => {
                    let missing = cells.iter().filter(|cell| ***cell == Cell::Missing).count();
                    recipe.columns.push(Column { name: name.clone(), encoding, missing });
                }
                Err(reason) => recipe.ignored.push(Ignored { name: name.clone(), reason }),
            }
        }
        Ok(recipe)
    }

    /// The length of the vector.
    pub fn width(&self) -> usize {
        self.columns.iter().map(Column::width).sum()
    }

    /// Where the columns are among the given ones, in any order.
    pub fn locate(&self, names: &[String]) -> Result<Vec<usize>, BadCell> {
        let place = |column: &Column| {
            names.iter().position(|name| *name == column.name).ok_or_else(|| BadCell {
                column: column.name.clone(),
                reason: format!("the model needs this column; there are {}", names.join(", ")),
            })
        };
        self.columns.iter().map(place).collect()
    }

    /// The vector of a row whose columns were [located](Self::locate).
    pub fn encode(&self, places: &[usize], row: &[Cell]) -> Result<Vec<f32>, BadCell> {
        let mut vector = Vec::with_capacity(self.width());
        for (column, &place) in self.columns.iter().zip(places) {
            column.encode(&row[place], &mut vector)?;
        }
        Ok(vector)
    }
}

impl Column {
    fn width(&self) -> usize {
        match &self.encoding {
            Encoding::Number { .. } => 1 + usize::from(self.missing > 0),
            Encoding::Category { values } => values.len(),
        }
    }

    fn encode(&self, cell: &Cell, vector: &mut Vec<f32>) -> Result<(), BadCell> {
        match &self.encoding {
            Encoding::Number { mean, scale, least } => {
                let number = match number(cell) {
                    Number::Value(value) => Some(self.finite(value)?),
                    Number::Missing => None,
                    Number::No => {
                        let reason = format!("`{}` is not a number", shown(cell));
                        return Err(self.bad(reason));
                    }
                };
                let standard =
                    number.map_or(0.0, |value| (transform(value, *least) - mean) / scale);
                vector.push(standard as f32);
                if self.missing > 0 {
                    vector.push(f32::from(u8::from(number.is_none())));
                }
            }
            Encoding::Category { values } => {
                let text = category(cell);
                vector.extend(values.iter().map(|value| match Some(value) == text.as_ref() {
                    true => 1.0,
                    false => 0.0,
                }));
            }
        }
        Ok(())
    }

    fn finite(&self, value: f64) -> Result<f64, BadCell> {
        match value.is_finite() {
            true => Ok(value),
            false => Err(self.bad(format!("{value} is not a finite number"))),
        }
    }

    fn bad(&self, reason: String) -> BadCell {
        BadCell { column: self.name.clone(), reason }
    }
}

enum Number {
    Value(f64),
    Missing,
    No,
}

fn number(cell: &Cell) -> Number {
    match cell {
        Cell::Missing => Number::Missing,
        Cell::Number(value) => Number::Value(*value),
        Cell::Bool(value) => Number::Value(f64::from(u8::from(*value))),
        Cell::Text(text) => text.trim().parse().map_or(Number::No, Number::Value),
        Cell::List(_) => Number::No,
    }
}

fn category(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Missing => None,
        other => Some(other.to_field().trim().to_string()),
    }
}

/// A cell in a message, cut where it is long.
pub(super) fn shown(cell: &Cell) -> String {
    let text = cell.to_field();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.into_owned(),
    }
}

/// Far below the least value the logarithm would end; it goes on as a straight line.
fn transform(value: f64, least: Option<f64>) -> f64 {
    match least {
        None => value,
        Some(least) if value >= least => (value - least).ln_1p(),
        Some(least) => value - least,
    }
}

/// The encoding, or the reason for none.
fn learn_column(name: &str, cells: &[&Cell]) -> Result<Result<Encoding, String>, BadCell> {
    let present: Vec<&Cell> = cells.iter().copied().filter(|c| **c != Cell::Missing).collect();
    if present.is_empty() {
        return Ok(Err("it has no values".to_string()));
    }
    if present.iter().any(|cell| matches!(cell, Cell::List(_))) {
        return Ok(Err("it holds lists; for vectors give --vectors".to_string()));
    }
    let numbers: Vec<f64> = present
        .iter()
        .filter_map(|cell| match number(cell) {
            Number::Value(value) => Some(value),
            _ => None,
        })
        .collect();
    if (numbers.len() as f64) < NUMERIC_SHARE * present.len() as f64 {
        return Ok(learn_category(&present));
    }
    if let Some(value) = numbers.iter().find(|value| !value.is_finite()) {
        let (column, reason) = (name.to_string(), format!("{value} is not a finite number"));
        return Err(BadCell { column, reason });
    }
    if numbers.len() < present.len() {
        let odd = present.iter().find(|cell| matches!(number(cell), Number::No));
        let reason = format!(
            "`{}` is not a number, but most values of this column are",
            odd.map_or_else(String::new, |cell| shown(cell))
        );
        return Err(BadCell { column: name.to_string(), reason });
    }
    Ok(learn_number(name, &numbers))
}

fn learn_number(name: &str, numbers: &[f64]) -> Result<Encoding, String> {
    if is_row_number(name, numbers) {
        return Err("it looks like a row number".to_string());
    }
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let (mean, scale, skew) = moments(numbers.iter().copied());
    if !(scale > 0.0 && scale.is_finite() && mean.is_finite()) {
        return Err("all its values are the same".to_string());
    }
    if skew > SKEWED {
        let (mean, scale, _) = moments(numbers.iter().map(|&v| transform(v, Some(least))));
        return Ok(Encoding::Number { mean, scale, least: Some(least) });
    }
    Ok(Encoding::Number { mean, scale, least: None })
}

/// Whole numbers that only go up, under a name that says so.
fn is_row_number(name: &str, numbers: &[f64]) -> bool {
    const NAMES: [&str; 5] = ["id", "index", "row", "no", "unnamed: 0"];
    let upwards = |pair: &[f64]| pair[1] > pair[0] && pair[1].fract() == 0.0;
    let named = NAMES.contains(&name.trim().to_lowercase().as_str());
    named && numbers.len() > 2 && numbers.windows(2).all(upwards)
}

/// Mean, standard deviation and skewness.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let central = |power| values.clone().map(|v| (v - mean).powi(power)).sum::<f64>() / count;
    let scale = central(2).sqrt();
    (mean, scale, central(3) / scale.powi(3))
}

fn learn_category(present: &[&Cell]) -> Result<Encoding, String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in present.iter().filter_map(|cell| category(cell)) {
        *counts.entry(value).or_default() += 1;
    }
    if counts.len() == 1 {
        return Err("all its values are the same".to_string());
    }
    if counts.len() > CATEGORIES && 2 * counts.len() > present.len() {
        return Err("most values are there once only: a name, or text (see --text)".to_string());
    }
    let mut frequent: Vec<(String, usize)> =
        counts.into_iter().filter(|(_, count)| *count >= CATEGORY_LEAST).collect();
    frequent.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    frequent.truncate(CATEGORIES);
    let mut values: Vec<String> = frequent.into_iter().map(|(value, _)| value).collect();
    values.sort();
    match values.is_empty() {
        true => Err("no value is there more than once".to_string()),
        false => Ok(Encoding::Category { values }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Cell {
        Cell::from_field(value)
    }

    fn learn(name: &str, values: &[&str]) -> Result<TableRecipe, BadCell> {
        let rows: Vec<Vec<Cell>> = values.iter().map(|value| vec![text(value)]).collect();
        TableRecipe::learn(&[name.to_string()], &rows, &[])
    }

    #[test]
    fn numbers_are_standardized_and_missing_ones_marked() {
        let recipe = learn("a", &["1", "", "3"]).unwrap();
        assert_eq!(recipe.width(), 2);
        let encode = |value| recipe.encode(&[0], &[text(value)]).unwrap();
        assert_eq!(encode("3"), [1.0, 0.0]);
        assert_eq!(encode(" 2 "), [0.0, 0.0]);
        assert_eq!(encode("NA"), [0.0, 1.0]);
        let error = recipe.encode(&[0], &[text("x")]).unwrap_err();
        assert_eq!((error.column.as_str(), error.reason.as_str()), ("a", "`x` is not a number"));
        let error = recipe.encode(&[0], &[text("inf")]).unwrap_err();
        assert!(error.reason.contains("not a finite number"));
    }

    #[test]
    fn long_tails_are_taken_by_their_logarithm() {
        let mut values: Vec<String> = (0..200).map(|i| (i % 10).to_string()).collect();
        values.push("100000".to_string());
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let recipe = learn("income", &values).unwrap();
        let Encoding::Number { least, .. } = recipe.columns[0].encoding else { panic!() };
        assert_eq!(least, Some(0.0));
        let far = recipe.encode(&[0], &[text("100000")]).unwrap()[0];
        let below = recipe.encode(&[0], &[text("-50")]).unwrap()[0];
        assert!(far < 20.0 && below < -20.0, "{far} {below}");
    }

    #[test]
    fn useless_columns_are_named_with_a_reason() {
        let ids: Vec<String> = (0..300).map(|i| format!("user-{i}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        for (name, values, reason) in [
            ("id", vec!["1", "2", "3", "4"], "row number"),
            ("a", vec!["", "NA"], "no values"),
            ("a", vec!["7", "7", "7"], "the same"),
            ("a", vec!["x", "x"], "the same"),
            ("name", ids, "there once only"),
        ] {
            let recipe = learn(name, &values).unwrap();
            assert!(recipe.columns.is_empty(), "{name}");
            assert!(recipe.ignored[0].reason.contains(reason), "{:?}", recipe.ignored);
        }
        // Not every column that counts is a row number.
        assert_eq!(learn("age", &["1", "2", "3", "4"]).unwrap().width(), 1);
    }

    #[test]
    fn a_stray_word_among_numbers_is_named() {
        let mut values = vec!["1"; 50];
        values[7] = "l0";
        let error = learn("a", &values).unwrap_err();
        assert!(error.reason.contains("`l0` is not a number"), "{}", error.reason);
    }

    #[test]
    fn columns_come_in_any_order_and_have_to_be_there() {
        let names = ["a", "b"].map(str::to_string);
        let rows: Vec<Vec<Cell>> =
            ["1", "2", "3"].iter().map(|v| vec![text(v), text(&format!("{v}0"))]).collect();
        let recipe = TableRecipe::learn(&names, &rows, &[]).unwrap();
        let turned = ["z", "b", "a"].map(str::to_string);
        let places = recipe.locate(&turned).unwrap();
        let one = recipe.encode(&places, &[text("?"), text("30"), text("1")]).unwrap();
        let other = recipe.encode(&[0, 1], &[text("1"), text("30")]).unwrap();
        assert_eq!(one, other);
        assert_eq!(recipe.locate(&["b".to_string()]).unwrap_err().column, "a");
    }
}
