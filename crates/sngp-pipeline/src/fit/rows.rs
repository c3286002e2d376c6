//! How raw rows become inputs, learned from the training rows.

use std::borrow::Cow;

use sngp::{Error, Result};
use sngp_records::Cell;

use super::options::Options;
use crate::input::{
    BadCell, Body, Column, Dataset, Encoding, ImagePreparation, Kind, Preparation,
    TablePreparation, in_file,
};

/// Images whose channels are averaged.
const IMAGES_AVERAGED: usize = 500;

fn place(data: &Dataset, names: &[String], column: &String) -> Result<usize> {
    names.iter().position(|name| name == column).ok_or_else(|| {
        let known = names.join(", ");
        Error::Data(format!("{}: no column `{column}`; there are {known}", data.file))
    })
}

/// Refuses to ignore what is not there.
pub(super) fn check_ignored(data: &Dataset, options: &Options<'_>) -> Result<()> {
    let Body::Rows { names, .. } = &data.body else { return Ok(()) };
    options.ignore.iter().try_for_each(|column| place(data, names, column).map(drop))
}

/// Learns how rows become inputs.
pub(super) fn learn(
    data: &Dataset,
    kind: &Kind,
    train: &[usize],
    options: &Options<'_>,
    remarks: &mut Vec<String>,
) -> Result<Preparation> {
    let (names, rows) = match &data.body {
        Body::Vectors { name, matrix } => {
            return Ok(Preparation::Vectors { vectors: name.clone(), width: matrix.columns() });
        }
        Body::Pictures { name, pictures } => {
            let step = train.len().div_ceil(IMAGES_AVERAGED).max(1);
            let some = train.iter().step_by(step).map(|&row| Ok(Cow::Borrowed(&pictures[row])));
            return ImagePreparation::learn(name, options.image_size, some)
                .map(Preparation::Images)
                .map_err(|bad| in_file(data, &bad));
        }
        Body::Rows { names, rows } => (names, rows),
    };
    let place = |column: &String| place(data, names, column);
    check_ignored(data, options)?;
    match kind {
        Kind::Table => {
            let left_out: Vec<String> =
                options.ignore.iter().cloned().chain([options.label.clone()]).collect();
            let own: Vec<Vec<Cell>> = train.iter().map(|&row| rows[row].clone()).collect();
            let table = TablePreparation::learn(names, &own, &left_out)
                .map_err(|bad| in_file(data, &bad))?;
            remarks.extend(column_remarks(&table, train.len()));
            if table.columns.is_empty() {
                return Err(Error::Data(format!("{}: no column can be used", data.file)));
            }
            Ok(Preparation::Table(table))
        }
        // Without an encoder they have been learned already.
        Kind::Text(column) => {
            place(column)?;
            Ok(Preparation::Sentences { text: column.clone() })
        }
        Kind::Vectors(column) => {
            let place = place(column)?;
            let width = rows.iter().find_map(|row| match &row[place] {
                Cell::List(values) => Some(values.len()),
                _ => None,
            });
            let width = width.ok_or_else(|| {
                Error::Data(format!("{}: column `{column}` holds no vectors", data.file))
            })?;
            Ok(Preparation::Vectors { vectors: column.clone(), width })
        }
        Kind::Images(column) => {
            let place = place(column)?;
            let step = train.len().div_ceil(IMAGES_AVERAGED).max(1);
            let reader = ImagePreparation::reader(column, options.image_size);
            let some = train
                .iter()
                .step_by(step)
                .map(|&row| reader.read(&rows[row][place], &data.folder).map(Cow::Owned));
            ImagePreparation::learn(column, options.image_size, some)
                .map(Preparation::Images)
                .map_err(|bad: BadCell| in_file(data, &bad))
        }
    }
}

/// A line a column: how it is encoded and how much of it is missing, or why it is not used.
fn column_remarks(table: &TablePreparation, rows: usize) -> Vec<String> {
    let used = table.columns.iter().map(|Column { name, encoding, missing, .. }| {
        let what = match encoding {
            Encoding::Number { least: None, .. } => "number".to_string(),
            Encoding::Number { least: Some(_), .. } => "number, by its logarithm".to_string(),
            Encoding::Category { values } => format!("{} categories", values.len()),
        };
        match missing {
            0 => format!("column `{name}`: {what}"),
            missing => {
                let share = 100.0 * *missing as f64 / rows.max(1) as f64;
                format!("column `{name}`: {what}, {share:.1} % missing")
            }
        }
    });
    let ignored = table
        .ignored
        .iter()
        .map(|ignored| format!("column `{}`: not used: {}", ignored.name, ignored.reason));
    used.chain(ignored).collect()
}
