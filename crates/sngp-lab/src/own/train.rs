//! From examples to a model.

use std::path::PathBuf;
use std::time::Instant;

use burn::tensor::{Device, Tensor};
use ndarray::{Array2, ArrayView2, Axis};
use sngp::backbone::{
    Backbone, Identity, IdentityConfig, ResFfn, ResFfnConfig, WideResNet, WideResNetConfig,
};
use sngp::data::{Inputs, Labelled, Table, Targets};
use sngp::likelihood::{Gaussian, Likelihood};
use sngp::method::{Method, Output};
use sngp::metrics::Classification;
use sngp::model::{AnyModel, Decision, Estimator, FitOptions, Model, ModelConfig};
use sngp::nn::FeatureKind;
use sngp::posterior::Curvature;
use sngp::predict::{Integration, Prediction, Predictive};
use sngp::score::{DempsterShafer, Score, Variance};
use sngp::train::{Interrupter, Observer};
use sngp::{Error, Result};

use super::card::{Card, HeldOut, Task, Training};
use super::columns::{BadCell, Column, TableRecipe};
use super::dataset::{Body, Dataset};
use super::encoder;
use super::guess::Kind;
use super::images::ImageRecipe;
use super::inputs::{ImageRows, MappedVectors};
use super::model::{Fitted, OwnModel};
use super::ngrams::NgramRecipe;
use super::recipe::{Prepared, Recipe};
use super::split::{Split, stratified};
use super::tuning::calibrate;

/// The share of held-out examples that a new model turns away, and the coverage of its intervals.
const ABSTAIN: f64 = 0.05;
const COVERAGE: f64 = 0.9;
/// Held-out examples below this largest logit count as far from the data.
const FAR: f64 = 0.05;
/// Places that n-grams are hashed to.
const PLACES: usize = 4096;
/// Rows whose distances tell the length scale.
const SAMPLE: usize = 1000;
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

/// A fitted network, how it was fitted in words, and the seconds of fit and posterior.
pub(super) struct Fit {
    pub fitted: Fitted,
    pub words: String,
    pub seconds: f64,
}

/// What is learned from and what is held out.
pub(super) struct Parts {
    pub train: Prepared,
    pub held_out: Prepared,
}

/// The labels as targets.
pub(super) struct Learning {
    pub names: Vec<String>,
    pub train: Targets,
    pub held_out: Targets,
    /// Mean and deviation of numbers.
    pub units: (f64, f64),
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
    let labels = labels(data)?;
    let learning = Labels::read(labels, options.regression)?;
    let split = match validation {
        Some(_) => Split { train: (0..data.rows()).collect(), held_out: Vec::new() },
        None => stratified(&learning.strata(), options.seed),
    };
    if validation.is_none() {
        let count = split.held_out.len();
        remarks.push(format!("{count} of {} rows held out to choose thresholds on", data.rows()));
    }
    let held_labels = match validation {
        Some(set) => self::labels(set)?.to_vec(),
        None => split.held_out.iter().map(|&row| labels[row].clone()).collect(),
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

fn labels(set: &Dataset) -> Result<&[String]> {
    set.labels.as_deref().ok_or_else(|| Error::Data(format!("{} has no labels", set.file)))
}

/// Labels as they were read.
enum Labels {
    Classes { names: Vec<String>, indices: Vec<usize> },
    Numbers(Vec<f64>),
}

impl Labels {
    fn read(labels: &[String], regression: bool) -> Result<Self> {
        if regression {
            return Ok(Self::Numbers(numbers(labels)?));
        }
        let mut names: Vec<String> = labels.to_vec();
        names.sort_by(|a, b| natural(a).partial_cmp(&natural(b)).unwrap_or(a.cmp(b)));
        names.dedup();
        if names.len() > 2 && 2 * names.len() > labels.len() {
            return Err(Error::Data(format!(
                "{} different labels in {} rows: is this the right column? \
                 For numbers, --task regression predicts them",
                names.len(),
                labels.len()
            )));
        }
        let indices = class_indices(labels, &names, "the training data")?;
        Ok(Self::Classes { names, indices })
    }

    /// Classes, or tenths of the range, to hold out of each.
    fn strata(&self) -> Vec<usize> {
        match self {
            Self::Classes { indices, .. } => indices.clone(),
            Self::Numbers(values) => {
                let mut order: Vec<usize> = (0..values.len()).collect();
                order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
                let mut strata = vec![0; values.len()];
                for (rank, &row) in order.iter().enumerate() {
                    strata[row] = 10 * rank / values.len();
                }
                strata
            }
        }
    }

    fn targets(self, train: &[usize], held_out: &[String], file: &str) -> Result<Learning> {
        match self {
            Self::Classes { names, indices } => {
                let classes = names.len();
                let own = train.iter().map(|&row| indices[row]).collect();
                let held = class_indices(held_out, &names, file)?;
                Ok(Learning {
                    train: Targets::classes(own, classes)?,
                    held_out: Targets::Classes { labels: held, classes },
                    names,
                    units: (0.0, 1.0),
                })
            }
            Self::Numbers(values) => {
                let own: Vec<f64> = train.iter().map(|&row| values[row]).collect();
                let mean = own.iter().sum::<f64>() / own.len() as f64;
                let square = own.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
                let scale = (square / own.len() as f64).sqrt();
                if !(scale.is_finite() && scale > 0.0) {
                    return Err(Error::Data("all numbers to predict are the same".to_string()));
                }
                let standard = |values: &[f64]| {
                    Targets::values(values.iter().map(|v| ((v - mean) / scale) as f32).collect())
                };
                Ok(Learning {
                    names: Vec::new(),
                    train: standard(&own)?,
                    held_out: standard(&numbers(held_out)?)?,
                    units: (mean, scale),
                })
            }
        }
    }
}

pub(super) fn numbers(labels: &[String]) -> Result<Vec<f64>> {
    let number = |(row, label): (usize, &String)| {
        label.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
            Error::Data(format!("row {}: label `{label}` is not a finite number", row + 1))
        })
    };
    labels.iter().enumerate().map(number).collect()
}

/// The class of every label, or an error that names the first unknown one.
pub(super) fn class_indices(labels: &[String], names: &[String], file: &str) -> Result<Vec<usize>> {
    let known: std::collections::HashMap<&String, usize> =
        names.iter().enumerate().map(|(index, name)| (name, index)).collect();
    let class = |(row, label): (usize, &String)| {
        known.get(label).copied().ok_or_else(|| {
            Error::Data(format!(
                "{file}, row {}: label `{label}` is none of the {} known ones",
                row + 1,
                names.len()
            ))
        })
    };
    labels.iter().enumerate().map(class).collect()
}

/// Numbers before words, by their value: 2 comes before 10.
fn natural(label: &str) -> (bool, f64, &str) {
    match label.parse::<f64>() {
        Ok(value) if value.is_finite() => (false, value, label),
        _ => (true, 0.0, label),
    }
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

/// Evenly spread rows.
pub(super) fn sample(rows: usize, load: impl Fn(&[usize]) -> Array2<f32>) -> Array2<f32> {
    let step = rows.div_ceil(SAMPLE).max(1);
    load(&(0..rows).step_by(step).collect::<Vec<_>>())
}

/// Half the median of the squared distances: the kernel of two typical rows is then `1 / e`.
pub(super) fn median_length_scale(sample: ArrayView2<'_, f32>) -> f64 {
    let mut distances = Vec::new();
    for i in 0..sample.nrows() {
        // Each row with some others, not all: a thousand rows would make half a million pairs.
        for j in (i + 1..sample.nrows()).step_by(7) {
            let pairs = sample.row(i).into_iter().zip(sample.row(j));
            distances.push(pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>());
        }
    }
    distances.retain(|distance| *distance > 0.0);
    distances.sort_by(f64::total_cmp);
    distances.get(distances.len() / 2).map_or(1.0, |median| median / 2.0)
}

/// The configuration all kinds start from.
pub(super) fn config(options: &TrainOptions<'_>, length_scale: f64) -> ModelConfig {
    let mut config = ModelConfig::new(options.method.clone());
    config.seed = options.seed;
    config.gaussian_process.features.count = options.features;
    config.gaussian_process.features.length_scale = length_scale;
    config.gaussian_process.l2 = options.l2;
    config.posterior.curvature = Some(Curvature::Gaussian);
    let process = config.method.recipe().output == Output::GaussianProcess;
    if options.regression {
        config.likelihood = Likelihood::Gaussian(Gaussian::default());
        config.gaussian_process.l2 = 1.0;
        config.score = process.then(|| Score::from(Variance {}));
    } else if process {
        config.score = Some(Score::from(DempsterShafer {}));
    }
    config.training.epochs = options.epochs;
    config
}

/// The same for embeddings: what they mean is in their direction, so they are normalized first.
pub(super) fn config_of_embeddings(
    options: &TrainOptions<'_>,
    sample: &Array2<f32>,
) -> ModelConfig {
    let median = || median_length_scale(normalized(sample).view());
    let mut config = config(options, options.length_scale.unwrap_or_else(median));
    config.gaussian_process.features.layer_norm = true;
    config
}

/// Every row with mean 0 and variance 1, as the layer normalization makes it.
pub(super) fn normalized(rows: &Array2<f32>) -> Array2<f32> {
    let mut rows = rows.clone();
    for mut row in rows.axis_iter_mut(Axis(0)) {
        let count = row.len() as f32;
        let mean = row.sum() / count;
        let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / count;
        row.mapv_inplace(|v| (v - mean) / variance.max(f32::MIN_POSITIVE).sqrt());
    }
    rows
}

/// Whether only the output layer has to be fitted.
pub(super) fn is_direct(options: &TrainOptions<'_>, table: bool) -> bool {
    let recipe = options.method.recipe();
    let single = recipe.members == 1 && recipe.passes == 1;
    match recipe.output {
        Output::GaussianProcess => single,
        // A dense layer on a table's columns would be a line; on embeddings a line does.
        Output::Dense => single && !table,
        _ => false,
    }
}

pub(super) fn fit_options<'a, B: Backbone>(
    options: &TrainOptions<'a>,
    learning: &Learning,
) -> FitOptions<'a, B> {
    FitOptions {
        labels: (!learning.names.is_empty()).then(|| learning.names.clone()),
        interrupter: options.interrupter.clone(),
        observe: options.observe,
        ..FitOptions::new(options.device)
    }
}

fn fit_vectors(
    inputs: impl Inputs<Tensor<2>> + 'static,
    sample: &Array2<f32>,
    recipe: &Recipe,
    held_out: &Prepared,
    learning: &Learning,
    options: &TrainOptions<'_>,
) -> Result<Fit> {
    let width = sample.ncols();
    let (table, embedded) =
        (matches!(recipe, Recipe::Table(_)), matches!(recipe, Recipe::Vectors { .. }));
    let mut config = match embedded {
        true => config_of_embeddings(options, sample),
        false => config(
            options,
            options.length_scale.unwrap_or_else(|| median_length_scale(sample.view())),
        ),
    };
    if width > options.features {
        // Random directions of so many dimensions are orthogonal enough.
        config.gaussian_process.features.kind = FeatureKind::Gaussian;
    }
    let data = Labelled::new(inputs, learning.train.clone())?;
    if is_direct(options, table) {
        let started = Instant::now();
        let estimator = Estimator::<Identity>::new(config, IdentityConfig { width });
        let (model, convergence) = estimator.fit_output(&data, fit_options(options, learning))?;
        let seconds = started.elapsed().as_secs_f64();
        let words = format!(
            "output layer solved in {} iterations{}",
            convergence.iterations,
            if convergence.converged { "" } else { ", not converged" }
        );
        return Ok(Fit { fitted: calibrated(model, held_out, learning)?, words, seconds });
    }
    let started = Instant::now();
    let backbone = ResFfnConfig { inputs: width, width: 128, depth: 4, ..Default::default() };
    config.training.learning_rate = 1e-3;
    config.training.batch_size = 64;
    let model =
        Estimator::<ResFfn>::new(config, backbone).fit(&data, fit_options(options, learning))?;
    let seconds = started.elapsed().as_secs_f64();
    let words = format!("residual network, {} epochs", options.epochs);
    Ok(Fit { fitted: calibrated(model, held_out, learning)?, words, seconds })
}

fn fit_images(
    recipe: &ImageRecipe,
    pixels: Array2<f32>,
    held_out: &Prepared,
    learning: &Learning,
    options: &TrainOptions<'_>,
) -> Result<Fit> {
    let size = recipe.size;
    let mut config = config(options, options.length_scale.unwrap_or(1.0));
    config.training.learning_rate = 1e-3;
    config.training.batch_size = 32;
    let started = Instant::now();
    let backbone = WideResNetConfig { depth: 10, widen: 1, dropout: 0.1, image: [3, size, size] };
    let data = Labelled::new(ImageRows { pixels, size }, learning.train.clone())?;
    let model = Estimator::<WideResNet>::new(config, backbone)
        .fit(&data, fit_options(options, learning))?;
    let seconds = started.elapsed().as_secs_f64();
    let words = format!("wide residual network 10-1, {} epochs", options.epochs);
    Ok(Fit { fitted: calibrated(model, held_out, learning)?, words, seconds })
}

/// The model with scale and mean-field factor chosen on held-out rows.
fn calibrated<B: Backbone>(
    model: Model<B>,
    held_out: &Prepared,
    learning: &Learning,
) -> Result<Fitted> {
    let Prepared::Vectors(vectors) = held_out else {
        return Err(Error::Data("the held-out rows are no vectors".to_string()));
    };
    let rows: &dyn AnyModel = &model;
    let prediction = rows.predict_rows(vectors.view())?;
    Ok(Fitted::Rows(Box::new(rescaled(model, &prediction, learning)?)))
}

/// The same, from a prediction of the held-out rows.
pub(super) fn rescaled<B: Backbone>(
    model: Model<B>,
    prediction: &Prediction,
    learning: &Learning,
) -> Result<Model<B>> {
    let Targets::Classes { labels, .. } = &learning.held_out else { return Ok(model) };
    if prediction.variance.is_none() {
        return Ok(model);
    }
    let found = calibrate(prediction, labels, true)?;
    let model = if found.scale == 1.0 { model } else { model.with_logit_scale(found.scale)? };
    model.with_integration(Integration::MeanField { factor: found.factor })
}

/// Held-out figures, the decision rule and what prediction needs to explain itself.
fn finish(model: &mut OwnModel, held_out: &Prepared, learning: &Learning) -> Result<()> {
    let prediction = model.predict(held_out)?;
    let score = model.any().config().score();
    // A method without a variance has nothing to abstain from a number by.
    let uncertainty = match score.evaluate(&prediction) {
        Err(Error::Unsupported(_)) => None,
        other => Some(other?),
    };
    match &learning.held_out {
        Targets::Classes { labels, .. } => {
            let probabilities = prediction.probabilities()?;
            for metric in Classification::all() {
                let value = metric.evaluate(probabilities, labels)?;
                model.card.held_out.metrics.push((metric.name().to_string(), value));
            }
            model.card.held_out.weakest = weakest(&prediction, labels, &learning.names)?;
            let mut tops = largest_logits(&prediction)?;
            tops.sort_by(f64::total_cmp);
            let least = tops[(tops.len() as f64 * FAR) as usize];
            model.card.task = Task::Classification { least_evidence: least };
        }
        Targets::Values(values) => {
            let Predictive::Normal { mean, variance } = &prediction.predictive else {
                return Err(Error::Data("a regression predicts numbers".to_string()));
            };
            let scaled = |((mean, variance), value): ((&f64, &f64), &f32)| {
                (f64::from(*value) - mean).abs() / variance.sqrt()
            };
            let residuals: Vec<f64> = mean.iter().zip(variance).zip(values).map(scaled).collect();
            let interval = conformal(&residuals, COVERAGE);
            let (mean_value, scale) = learning.units;
            let squares = mean.iter().zip(values).map(|(m, v)| (m - f64::from(*v)).powi(2));
            let rmse = (squares.sum::<f64>() / values.len() as f64).sqrt() * scale;
            model.card.held_out.metrics.push(("rmse".to_string(), rmse));
            model.card.task =
                Task::Regression { mean: mean_value, scale, interval, coverage: COVERAGE };
        }
    }
    if let Some(uncertainty) = uncertainty {
        // So few held-out examples allow no smaller share.
        let least = 1.0 / (uncertainty.len() + 1) as f64;
        let share = if ABSTAIN > least { ABSTAIN } else { (1.5 * least).min(0.5) };
        model.set_decision(Decision::turning_away_at_most(share, score, &uncertainty)?)?;
    }
    Ok(())
}

/// The `ceil((n + 1) coverage)`-th smallest residual, or the largest where there are too few.
fn conformal(residuals: &[f64], coverage: f64) -> f64 {
    let mut sorted = residuals.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = ((sorted.len() + 1) as f64 * coverage).ceil() as usize;
    sorted.get(rank - 1).or(sorted.last()).copied().unwrap_or(1.0)
}

/// The largest adjusted logit of every row: how much speaks for any class.
pub fn largest_logits(prediction: &Prediction) -> Result<Vec<f64>> {
    let logits = prediction.class_logits()?;
    let top = |row: ndarray::ArrayView1<'_, f64>| row.iter().copied().fold(f64::MIN, f64::max);
    Ok(logits.axis_iter(Axis(0)).map(top).collect())
}

/// Classes by the share of their examples that is recognized, at most ten.
fn weakest(
    prediction: &Prediction,
    labels: &[usize],
    names: &[String],
) -> Result<Vec<(String, f64)>> {
    let mut counts = vec![(0usize, 0usize); names.len()];
    for (found, &label) in prediction.labels()?.into_iter().zip(labels) {
        counts[label].0 += usize::from(found == label);
        counts[label].1 += 1;
    }
    let mut shares: Vec<(String, f64)> = counts
        .iter()
        .zip(names)
        .filter(|((_, all), _)| *all > 0)
        .map(|((right, all), name)| (name.clone(), *right as f64 / *all as f64))
        .collect();
    shares.sort_by(|a, b| a.1.total_cmp(&b.1));
    shares.truncate(10);
    Ok(shares)
}
