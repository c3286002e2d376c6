//! What a column holds, judged by its training rows.

use std::collections::{BTreeMap, BTreeSet};

use super::{BadCell, Encoding, Number, category, number, shown, transform};
use sngp_records::Cell;

/// A column is one of numbers if at least this share of its values are.
const NUMERIC_SHARE: f64 = 0.95;
/// A category counts if it is seen so often, and is among so many of the most frequent ones.
const CATEGORY_LEAST: usize = 2;
const CATEGORIES: usize = 100;
/// Numbers in a notation that is not read have more values than this, categories fewer.
const NOTATIONS: usize = 20;
/// Columns with a longer tail than this are taken by their logarithm.
const SKEWED: f64 = 3.0;

/// The encoding, or the reason for none.
pub(super) fn learn_column(
    name: &str,
    cells: &[&Cell],
) -> Result<Result<Encoding, String>, BadCell> {
    let present: Vec<&Cell> = cells.iter().copied().filter(|c| **c != Cell::Missing).collect();
    if present.is_empty() {
        return Ok(Err("it has no values".to_string()));
    }
    if present.iter().any(|cell| matches!(cell, Cell::List(_))) {
        return Ok(Err("it holds lists, and tables have numbers and categories".to_string()));
    }
    // A boolean among other numbers than 0 and 1 is none.
    let truths = present.iter().all(|cell| match number(cell) {
        Number::Value(value) => value == 0.0 || value == 1.0,
        _ => false,
    });
    let number = |cell: &Cell| match cell {
        Cell::Bool(_) if !truths => Number::No,
        other => number(other),
    };
    let numbers: Vec<f64> = present
        .iter()
        .filter_map(|cell| match number(cell) {
            Number::Value(value) => Some(value),
            _ => None,
        })
        .collect();
    if (numbers.len() as f64) < NUMERIC_SHARE * present.len() as f64 {
        check_notation(name, &present)?;
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

/// Refuses numbers as `3,5`, `1 200`, `12 %` and `$ 40`: as categories their order would be lost, and
/// nearly every new one would be unknown.
fn check_notation(name: &str, present: &[&Cell]) -> Result<(), BadCell> {
    let with_signs = |text: &str| {
        let rest = text.trim().trim_start_matches(['-', '+']);
        let part = |c: char| c.is_ascii_digit() || c.is_whitespace() || ".,'%$€£¥".contains(c);
        rest.chars().all(part) && rest.contains(|c: char| c.is_ascii_digit())
    };
    let texts = present.iter().filter_map(|cell| match cell {
        Cell::Text(text) if with_signs(text) => Some(text.trim()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    let unread: BTreeSet<&str> =
        texts.iter().copied().filter(|text| text.parse::<f64>().is_err()).collect();
    let numbers = present.iter().filter(|cell| matches!(cell, Cell::Number(_))).count();
    let most = (texts.len() + numbers) as f64 >= NUMERIC_SHARE * present.len() as f64;
    // Dates and versions have more than one of these, all of them.
    let example = unread.iter().find(|text| text.matches(['.', ',']).count() <= 1);
    match example.filter(|_| most && unread.len() > NOTATIONS) {
        Some(example) => {
            let reason = format!(
                "`{example}` looks like a number but is not written as one: decimals follow a point, and \
                 there is no other sign"
            );
            Err(BadCell { column: name.to_string(), reason })
        }
        None => Ok(()),
    }
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
        return Err("most values are there once only: a name, or text".to_string());
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
