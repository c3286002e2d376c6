//! Columns of a table as numbers.

mod learn;

use serde::{Deserialize, Serialize};

use sngp_records::Cell;

use self::learn::learn_column;
use crate::answer::Reason;

/// How the columns of a table become a vector. It is learned from the training rows and saved with
/// the model, so that prediction takes raw rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablePreparation {
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
    /// Training rows whose category is none of the encoded ones; not known of older models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<usize>,
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

impl TablePreparation {
    /// Learns the encoding of all columns but the named ones.
    ///
    /// ```
    /// use sngp_pipeline::input::TablePreparation;
    /// use sngp_records::Cell;
    ///
    /// let text = |t: &str| Cell::Text(t.to_string());
    /// let rows = [("1.5", "red"), ("2.5", "blue"), ("3.5", "red"), ("0.5", "blue")]
    ///     .map(|(size, colour)| vec![text(size), text(colour)]);
    /// let names = ["size".to_string(), "colour".to_string()];
    /// let table = TablePreparation::learn(&names, &rows, &[])?;
    /// assert_eq!(table.width(), 3);
    /// let places = table.locate(&names)?;
    /// let (vector, oddity) = table.encode(&places, &[text("2.0"), text("red")])?;
    /// assert_eq!((vector, oddity), (vec![0.0, 0.0, 1.0], None));
    /// let (_, oddity) = table.encode(&places, &[text("2.0"), text("green")])?;
    /// assert_eq!(oddity.unwrap().to_string(), "unseen_category: column `colour`");
    /// # Ok::<(), sngp_pipeline::input::BadCell>(())
    /// ```
    pub fn learn(
        names: &[String],
        rows: &[Vec<Cell>],
        left_out: &[String],
    ) -> Result<Self, BadCell> {
        let mut table = Self { columns: Vec::new(), ignored: Vec::new() };
        for (index, name) in names.iter().enumerate() {
            if left_out.contains(name) {
                continue;
            }
            let cells: Vec<&Cell> = rows.iter().map(|row| &row[index]).collect();
            match learn_column(name, &cells)? {
                Ok(encoding) => {
                    let missing = cells.iter().filter(|cell| ***cell == Cell::Missing).count();
                    let other = encoding.others(&cells);
                    table.columns.push(Column { name: name.clone(), encoding, missing, other });
                }
                Err(reason) => table.ignored.push(Ignored { name: name.clone(), reason }),
            }
        }
        Ok(table)
    }

    /// The length of the vector.
    pub fn width(&self) -> usize {
        self.columns.iter().map(Column::width).sum()
    }

    /// Refuses units that nothing can be measured in.
    pub(super) fn check(&self) -> Result<(), String> {
        let unsound = self.columns.iter().find(|column| match &column.encoding {
            Encoding::Number { mean, scale, least } => {
                let finite = mean.is_finite() && scale.is_finite() && *scale > 0.0;
                !finite || least.is_some_and(|least| !least.is_finite())
            }
            Encoding::Category { values } => values.is_empty(),
        });
        let told = |column: &Column| format!("the units of column `{}` are not sound", column.name);
        unsound.map_or(Ok(()), |column| Err(told(column)))
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

    /// The vector of a row whose columns were [located](Self::locate), and the first thing about
    /// it that training rows never had.
    pub fn encode(
        &self,
        places: &[usize],
        row: &[Cell],
    ) -> Result<(Vec<f32>, Option<Reason>), BadCell> {
        let mut vector = Vec::with_capacity(self.width());
        let mut oddity = None;
        for (column, &place) in self.columns.iter().zip(places) {
            let found = column.encode(&row[place], &mut vector)?;
            oddity = oddity.or(found);
        }
        Ok((vector, oddity))
    }

    /// The places of the vector that hold numbers rather than categories or marks.
    pub fn numbers(&self) -> Vec<usize> {
        let mut places = Vec::new();
        let mut start = 0;
        for column in &self.columns {
            if let Encoding::Number { .. } = column.encoding {
                places.push(start);
            }
            start += column.width();
        }
        places
    }
}

impl Column {
    fn width(&self) -> usize {
        match &self.encoding {
            Encoding::Number { .. } => 1 + usize::from(self.missing > 0),
            Encoding::Category { values } => values.len(),
        }
    }

    fn encode(&self, cell: &Cell, vector: &mut Vec<f32>) -> Result<Option<Reason>, BadCell> {
        let missing = *cell == Cell::Missing && self.missing == 0;
        let mut oddity = missing.then(|| Reason::MissingValue { column: self.name.clone() });
        match &self.encoding {
            Encoding::Number { mean, scale, least } => {
                let number = match number(cell) {
                    Number::Value(_)
                        if matches!(cell, Cell::Bool(_))
                            && !holds_truths(*mean, *scale, *least) =>
                    {
                        return Err(self.bad(format!("`{}` is not a number", shown(cell))));
                    }
                    Number::Value(value) => Some(self.finite(value)?),
                    Number::Missing => None,
                    Number::No => {
                        let reason = format!("`{}` is not a number", shown(cell));
                        return Err(self.bad(reason));
                    }
                };
                let standard =
                    number.map_or(0.0, |value| (transform(value, *least) - mean) / scale);
                let narrow = standard as f32;
                if !narrow.is_finite() {
                    return Err(self.bad(format!("{} is too large a number", shown(cell))));
                }
                vector.push(narrow);
                if self.missing > 0 {
                    vector.push(f32::from(u8::from(number.is_none())));
                }
            }
            Encoding::Category { values } => {
                let text = category(cell);
                let known = text.as_ref().is_none_or(|text| values.contains(text));
                if !known && self.other == Some(0) {
                    let column = self.name.clone();
                    oddity = oddity.or(Some(Reason::UnseenCategory { column }));
                }
                let place = |value: &String| f32::from(u8::from(Some(value) == text.as_ref()));
                vector.extend(values.iter().map(place));
            }
        }
        Ok(oddity)
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

impl Encoding {
    /// Cells whose category is none of the encoded ones.
    fn others(&self, cells: &[&Cell]) -> Option<usize> {
        let Self::Category { values } = self else { return None };
        let other = |cell: &&&Cell| category(cell).is_some_and(|text| !values.contains(&text));
        Some(cells.iter().filter(other).count())
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

/// Whether the column was one of zeros and ones, as booleans are. The variance of such a column is
/// `p (1 - p)`, and of no other whose mean is between them.
fn holds_truths(mean: f64, scale: f64, least: Option<f64>) -> bool {
    let (zero, one) = (transform(0.0, least), transform(1.0, least));
    let share = (mean - zero) / (one - zero);
    let variance = (scale / (one - zero)).powi(2);
    least.is_none_or(|least| least == 0.0) && (variance - share * (1.0 - share)).abs() < 1e-9
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
