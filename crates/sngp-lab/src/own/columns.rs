//! Columns of a table as numbers.

mod learn;

use serde::{Deserialize, Serialize};

use self::learn::learn_column;
use crate::records::Cell;

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

#[cfg(test)]
mod tests;
