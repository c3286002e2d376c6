//! From examples to a model.

use std::path::PathBuf;

use burn::tensor::Device;
use ndarray::Axis;
use sngp::data::Table;
use sngp::method::Method;
use sngp::train::{Interrupter, Observer};
use sngp::{Error, Result};

use super::card::{Card, HeldOut, Task, Training};
use super::columns::{BadCell, Column, TableRecipe};
use super::dataset::{Body, Dataset};
use super::encoder;
use super::finish::finish;
use super::fit::{Fit, fit_images, fit_vectors, is_direct, sample};
use super::guess::Kind;
use super::images::ImageRecipe;
use super::inputs::MappedVectors;
use super::labels::{Labels, labels};
use super::model::OwnModel;
use super::ngrams::NgramRecipe;
use super::recipe::{Prepared, Recipe};
use super::split::{Split, stratified};

/// Places that n-grams are hashed to.
const PLACES: usize = 4096;
/// Images whose channels are averaged.
const IMAGES_AVERAGED: usize = 500;

/// What to make of the examples.
#[derive(Clone)]
pub struct TrainOptions<'a> {
    /// The kind of input.
    pub kind: Kind,
    /// The column with the labels.
    pub label: String,
    /// Columns that are not to be used.
    pub ignore: Vec<String>,
    /// Whether the labels are numbers to be predicted.
    pub regression: bool,
    /// The method.
    pub method: Method,
    /// Random features.
    pub features: usize,
    /// The length scale; from the distances between rows when absent.
    pub length_scale: Option<f64>,
    /// The strength of the prior.
    pub l2: f64,
    /// Epochs of methods that train a network.
    pub epochs: usize,
    /// The folder of a pretrained text encoder.
    pub encoder: Option<PathBuf>,
    /// Whether the encoder is trained too.
    pub fine_tune: bool,
    /// Where texts are cut for an encoder.
    pub max_tokens: usize,
    /// Height and width that images are resized to.
    pub image_size: usize,
    /// Determines everything random.
    pub seed: u64,
    /// The device.
    pub device: &'a Device,
    /// Stops it from outside.
    pub interrupter: Interrupter,
    /// Makes the observer of each network.
    pub observe: &'a (dyn Fn(usize) -> Box<dyn Observer> + Sync),
}

/// A trained model and what there is to say about it.
pub struct Trained {
    /// The model.
    pub model: OwnModel,
    /// Remarks about the data, for the user.
    pub remarks: Vec<String>,
    /// Seconds of fit and posterior, without reading, preparing and calibrating.
    pub fit_seconds: f64,
}

/// What is learned from and what is held out.
pub(super) struct Parts {
    pub train: Prepared,
    pub held_out: Prepared,
}

impl TrainOptions<'_> {
    /// Whether several length scales are worth trying unasked: on tables columns differ in what
    /// they say, the usual one is often too short, and a fit takes no time.
    pub fn should_tune(&self, rows: usize) -> bool {
        const QUICK: usize = 5000;
        let open = self.kind == Kind::Table && self.length_scale.is_none();
        open && rows <= QUICK && is_direct(self, true)
    }
}

/// Trains a model. Without a validation set, a share of the examples is held out.
pub fn train(
    data: &Dataset,
    validation: Option<&Dataset>,
    options: &TrainOptions<'_>,
) -> Result<Trained> {
    let mut remarks = Vec::new();
    let own_labels = labels(data)?;
    let learning = Labels::read(own_labels, options.regression)?;
    let split = match validation {
        Some(_) => Split { train: (0..data.rows()).collect(), held_out: Vec::new() },
        None => stratified(&learning.strata(), options.seed),
    };
    if validation.is_none() {
        let count = split.held_out.len();
        remarks.push(format!("{count} of {} rows held out to choose thresholds on", data.rows()));
    }
    let held_labels = match validation {
        Some(set) => labels(set)?.to_vec(),
        None => split.held_out.iter().map(|&row| own_labels[row].clone()).collect(),
    };
    if held_labels.is_empty() {
        return Err(Error::Data("there are too few examples to hold any out".to_string()));
    }
    let held_file = validation.map_or(&data.file, |set| &set.file);
    let learning = learning.targets(&split.train, &held_labels, held_file)?;
    let recipe = learn_recipe(data, &split.train, options, &mut remarks)?;
    let held_rows: Vec<usize> =
        validation.map_or(split.held_out.clone(), |set| (0..set.rows()).collect());
    let held_out = prepare(&recipe, validation.unwrap_or(data), &held_rows)?;
    let Fit { fitted, words, seconds } = match (&recipe, &data.body, &options.encoder) {
        (Recipe::Vectors { .. }, Body::Vectors { matrix, .. }, _) => {
            let inputs = MappedVectors { matrix: matrix.clone(), rows: split.train.clone() };
            let sample = sample(split.train.len(), |rows| {
                let rows = rows.iter().map(|&row| split.train[row]).collect();
                MappedVectors { matrix: matrix.clone(), rows }.load()
            });
            fit_vectors(inputs, &sample, &recipe, &held_out, &learning, options)?
        }
        (Recipe::Sentences { .. }, _, Some(folder)) => {
            let train = prepare(&recipe, data, &split.train)?;
            encoder::fit(folder, &Parts { train, held_out: held_out.clone() }, &learning, options)?
        }
        (Recipe::Images(images), ..) => {
            let Prepared::Vectors(pixels) = prepare(&recipe, data, &split.train)? else {
                return Err(Error::Data("images are vectors of pixels".to_string()));
            };
            fit_images(images, pixels, &held_out, &learning, options)?
        }
        _ => {
            let Prepared::Vectors(vectors) = prepare(&recipe, data, &split.train)? else {
                return Err(Error::Data("an encoder is needed for sentences".to_string()));
            };
            let sample = sample(vectors.nrows(), |rows| vectors.select(Axis(0), rows));
            fit_vectors(
                Table::new(vectors.view())?,
                &sample,
                &recipe,
                &held_out,
                &learning,
                options,
            )?
        }
    };
    let card = Card {
        recipe,
        label: options.label.clone(),
        task: Task::Classification { least_evidence: f64::NEG_INFINITY },
        training: Training { file: data.file.clone(), rows: split.train.len(), fit: words },
        held_out: HeldOut { rows: held_rows.len(), metrics: Vec::new(), weakest: Vec::new() },
    };
    let mut model = OwnModel::new(card, fitted);
    finish(&mut model, &held_out, &learning)?;
    Ok(Trained { model, remarks, fit_seconds: seconds })
}

fn learn_recipe(
    data: &Dataset,
    train: &[usize],
    options: &TrainOptions<'_>,
    remarks: &mut Vec<String>,
) -> Result<Recipe> {
    let (names, rows) = match &data.body {
        Body::Vectors { name, matrix } => {
            return Ok(Recipe::Vectors { vectors: name.clone(), width: matrix.columns() });
        }
        Body::Rows { names, rows } => (names, rows),
    };
    let place = |column: &String| {
        names.iter().position(|name| name == column).ok_or_else(|| {
            Error::Data(format!(
                "{}: no column `{column}`; there are {}",
                data.file,
                names.join(", ")
            ))
        })
    };
    match &options.kind {
        Kind::Table => {
            let left_out: Vec<String> =
                options.ignore.iter().cloned().chain([options.label.clone()]).collect();
            let own: Vec<Vec<_>> = train.iter().map(|&row| rows[row].clone()).collect();
            let table =
                TableRecipe::learn(names, &own, &left_out).map_err(|bad| in_file(data, &bad))?;
            for ignored in &table.ignored {
                remarks.push(format!("column `{}` is not used: {}", ignored.name, ignored.reason));
            }
            remarks.extend(missing_remark(&table, train.len()));
            if table.columns.is_empty() {
                return Err(Error::Data(format!("{}: no column can be used", data.file)));
            }
            Ok(Recipe::Table(table))
        }
        Kind::Text(column) if options.encoder.is_some() => {
            place(column)?;
            Ok(Recipe::Sentences { text: column.clone() })
        }
        Kind::Text(column) => {
            let place = place(column)?;
            let texts: Vec<_> = train.iter().map(|&row| rows[row][place].to_field()).collect();
            Ok(Recipe::Ngrams(NgramRecipe::learn(column, &texts, PLACES)))
        }
        Kind::Vectors(column) => {
            let place = place(column)?;
            let width = rows.iter().find_map(|row| match &row[place] {
                crate::records::Cell::List(values) => Some(values.len()),
                _ => None,
            });
            let width = width.ok_or_else(|| {
                Error::Data(format!("{}: column `{column}` holds no vectors", data.file))
            })?;
            Ok(Recipe::Vectors { vectors: column.clone(), width })
        }
        Kind::Images(column) => {
            let place = place(column)?;
            let step = train.len().div_ceil(IMAGES_AVERAGED);
            let cells: Vec<_> = train.iter().step_by(step).map(|&row| &rows[row][place]).collect();
            ImageRecipe::learn(column, options.image_size, &cells, &data.folder)
                .map(Recipe::Images)
                .map_err(|bad| in_file(data, &bad))
        }
    }
}

/// How many values are missing, and where most.
fn missing_remark(table: &TableRecipe, rows: usize) -> Option<String> {
    let most = table.columns.iter().max_by_key(|column| column.missing)?;
    let columns = table.columns.iter().filter(|column| column.missing > 0).count();
    (columns > 0).then(|| {
        let Column { name, missing, .. } = most;
        format!("values are missing in {columns} columns, most in `{name}`: {missing} of {rows}")
    })
}

fn in_file(data: &Dataset, bad: &BadCell) -> Error {
    Error::Data(format!("{}, column `{}`: {}", data.file, bad.column, bad.reason))
}

/// What the model takes for some rows of a set; a row that is bad is an error.
pub fn prepare(recipe: &Recipe, set: &Dataset, wanted: &[usize]) -> Result<Prepared> {
    let (names, rows) = match &set.body {
        Body::Rows { names, rows } => (names, rows),
        Body::Vectors { name, matrix } => {
            let Recipe::Vectors { width, .. } = recipe else {
                let message = format!("{}: the model takes {}", set.file, recipe.describe());
                return Err(Error::Unsupported(message));
            };
            if matrix.columns() != *width {
                let what = format!("columns of `{name}` in {}", set.file);
                return Err(Error::shape(what, width, matrix.columns()));
            }
            let some = MappedVectors { matrix: matrix.clone(), rows: wanted.to_vec() };
            return Ok(Prepared::Vectors(some.load()));
        }
    };
    let located = recipe.locate(names, set.folder.clone()).map_err(|bad| in_file(set, &bad))?;
    let cells: Vec<&[_]> = wanted.iter().map(|&row| rows[row].as_slice()).collect();
    let (prepared, bad) = located.prepare(&cells);
    match bad.iter().enumerate().find_map(|(index, bad)| Some((index, bad.as_ref()?))) {
        None => Ok(prepared),
        Some((index, BadCell { column, reason })) => Err(Error::Data(format!(
            "{}, row {}, column `{column}`: {reason}",
            set.file,
            wanted[index] + 1
        ))),
    }
}
