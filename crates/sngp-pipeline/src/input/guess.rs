//! What a file holds, judged by its looks.

use sngp_records::Cell;

use super::dataset::{Body, Dataset};
use super::images::is_image;

/// Rows that are looked at.
const LOOKED_AT: usize = 200;
/// A text has more words than a category, on average.
const WORDS: f64 = 2.5;

/// What inputs are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Columns of numbers and categories.
    Table,
    /// A column of text.
    Text(String),
    /// A column or array of vectors.
    Vectors(String),
    /// A column of paths of images.
    Images(String),
}

/// The kind of a file's examples, and why.
pub fn guess(set: &Dataset, label: &str) -> (Kind, String) {
    let (names, rows) = match &set.body {
        Body::Vectors { name, matrix } => {
            let reason =
                format!("`{name}` is an array of {} x {}", matrix.rows(), matrix.columns());
            return (Kind::Vectors(name.clone()), reason);
        }
        Body::Pictures { name, pictures } => {
            return (Kind::Images(name.clone()), format!("{} images", pictures.len()));
        }
        Body::Rows { names, rows } => (names, rows),
    };
    let others: Vec<usize> = (0..names.len()).filter(|&i| names[i] != label).collect();
    let cells = |column: usize| {
        let cells = rows.iter().take(LOOKED_AT).map(move |row| &row[column]);
        cells.filter(|cell| **cell != Cell::Missing)
    };
    let all = |column: usize, is: &dyn Fn(&Cell) -> bool| {
        cells(column).next().is_some() && cells(column).all(is)
    };
    if let Some(&column) = others.iter().find(|&&c| all(c, &|cell| matches!(cell, Cell::List(_)))) {
        let reason = format!("column `{}` holds lists of numbers", names[column]);
        return (Kind::Vectors(names[column].clone()), reason);
    }
    let path = |cell: &Cell| matches!(cell, Cell::Text(text) if is_image(text));
    if let Some(&column) = others.iter().find(|&&column| all(column, &path)) {
        let reason = format!("column `{}` holds paths of images", names[column]);
        return (Kind::Images(names[column].clone()), reason);
    }
    let words = |column: usize| {
        let texts = cells(column).filter_map(|cell| match cell {
            Cell::Text(text) if text.trim().parse::<f64>().is_err() => Some(text),
            _ => None,
        });
        let counts: Vec<usize> = texts.map(|text| text.split_whitespace().count()).collect();
        counts.iter().sum::<usize>() as f64 / cells(column).count().max(1) as f64
    };
    let texts: Vec<usize> = others.iter().copied().filter(|&c| words(c) >= WORDS).collect();
    match texts[..] {
        [column] if others.len() <= 2 => {
            let reason = format!("column `{}` holds sentences", names[column]);
            (Kind::Text(names[column].clone()), reason)
        }
        _ => (Kind::Table, format!("{} columns beside the label", others.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str], rows: &[&[&str]]) -> Dataset {
        let names = names.iter().map(|name| name.to_string()).collect();
        let cells = |row: &&[&str]| row.iter().map(|cell| Cell::from_field(cell)).collect();
        let rows = rows.iter().map(cells).collect();
        Dataset::of_cells(names, rows).unwrap()
    }

    #[test]
    fn kinds_are_told_apart() {
        let intents = set(&["text", "y"], &[&["where is my card", "a"], &["top up by bank", "b"]]);
        assert_eq!(guess(&intents, "y").0, Kind::Text("text".to_string()));
        let table = set(&["size", "colour", "y"], &[&["1", "dark red", "a"], &["2", "blue", "b"]]);
        assert_eq!(guess(&table, "y").0, Kind::Table);
        let images = set(&["file", "y"], &[&["a/1.PNG", "a"], &["b/2.jpeg", "b"]]);
        assert_eq!(guess(&images, "y").0, Kind::Images("file".to_string()));
        let numbers = set(&["a", "y"], &[&["1.5", "a"], &["2", "b"]]);
        assert_eq!(guess(&numbers, "y").0, Kind::Table);
    }
}
