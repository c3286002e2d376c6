//! Networks for every kind of input.

use std::time::Instant;

use ndarray::{Array2, ArrayView2, Axis};
use sngp::backbone::{
    Backbone, IdentityConfig, ResFfnConfig, Shipped, ShippedBatch, ShippedConfig, StandardizeConfig,
};
use sngp::data::{Labelled, Table, Targets};
use sngp::likelihood::{Gaussian, Likelihood};
use sngp::method::Output;
use sngp::model::{
    AnyModel, Estimator, FitOptions, ModelConfig, ModelInputs, ShippedModel, fit, fit_output,
    given_output,
};
use sngp::nn::{FeatureKind, Head};
use sngp::posterior::{Curvature, Precision};
use sngp::predict::{Integration, Prediction};
use sngp::text::TextTokenizer;
use sngp::{Error, Result};

use super::calibration::best_calibration;
use super::examples::{Examples, TrainInputs};
use super::labels::Learning;
use super::options::Options;
use super::units::{Moments, Units};
use crate::input::{Preparation, Prepared};

/// The usual strength of the prior.
pub(super) const L2: f64 = 0.02;

/// Rows that means and deviations of columns are taken of.
const MOMENT_ROWS: usize = 5000;

/// A fitted network, how it was fitted in words, and the seconds of fit and posterior.
pub(super) struct Fit {
    pub model: ShippedModel,
    pub tokenizer: Option<TextTokenizer>,
    pub words: String,
    pub seconds: f64,
}

/// What is tuned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settings {
    pub units: Units,
    pub length_scale: Option<f64>,
    pub l2: f64,
}

impl Settings {
    pub fn of(options: &Options<'_>) -> Self {
        let l2 = options.l2.unwrap_or(L2);
        Self { units: Units::default(), length_scale: options.length_scale, l2 }
    }
}

/// Half the median of the squared distances: the kernel of two typical rows is then `1 / e`.
pub fn median_length_scale(sample: ArrayView2<'_, f32>) -> f64 {
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
pub(super) fn config(settings: &Settings, options: &Options<'_>, length_scale: f64) -> ModelConfig {
    let mut config = ModelConfig::new(options.method.clone());
    config.seed = options.seed;
    config.gaussian_process.features.count = options.features;
    config.gaussian_process.features.length_scale = length_scale;
    config.exact_gp.length_scale = length_scale;
    config.gaussian_process.l2 = settings.l2;
    config.posterior.curvature = Some(Curvature::Gaussian);
    if options.regression() {
        config.likelihood = Likelihood::Gaussian(Gaussian::default());
        config.gaussian_process.l2 = 1.0;
    }
    config.training.epochs = options.epochs();
    config
}

/// The same for embeddings, looked at in their units.
pub(super) fn config_of_embeddings(
    settings: &Settings,
    options: &Options<'_>,
    seen: ArrayView2<'_, f32>,
) -> ModelConfig {
    let scale = settings.length_scale.unwrap_or_else(|| median_length_scale(seen));
    let mut config = config(settings, options, scale);
    let features = &mut config.gaussian_process.features;
    features.layer_norm = settings.units == Units::Direction;
    // The line counts as the rest does: both kernels are 1 for a row and itself, on average.
    let squares: f64 = seen.iter().map(|&value| f64::from(value).powi(2)).sum();
    features.linear = 1.0 / (squares / seen.nrows().max(1) as f64).max(1e-12).sqrt();
    config
}

/// Every row with mean 0 and variance 1, as the layer normalization makes it.
pub fn normalized(rows: &Array2<f32>) -> Array2<f32> {
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
pub(super) fn is_direct(options: &Options<'_>, table: bool) -> bool {
    let recipe = options.method.recipe();
    let single = recipe.members == 1 && recipe.passes == 1;
    match recipe.output {
        Output::GaussianProcess => single,
        // A dense layer on a table's columns would be a line; on embeddings a line does.
        Output::Dense => single && !table,
        _ => false,
    }
}

pub(super) fn fit_options<'a>(
    options: &Options<'a>,
    learning: &Learning,
) -> FitOptions<'a, Shipped> {
    FitOptions {
        labels: (!learning.names.is_empty()).then(|| learning.names.clone()),
        interrupter: options.interrupter.clone(),
        observe: options.observe,
        ..FitOptions::new(&options.device)
    }
}

/// The estimator of an output layer on vectors as they are, or in their units.
pub(super) fn estimator_of_vectors(
    examples: &Examples,
    settings: &Settings,
    features: usize,
    options: &Options<'_>,
) -> Result<Estimator<Shipped>> {
    let sample = examples.sample();
    let width = sample.ncols();
    let (mut backbone, mut pretrained) = (ShippedConfig::from(IdentityConfig { width }), None);
    let logits = matches!(examples.train, TrainInputs::Logits { .. });
    let mut config = if examples.preparation.gives_embeddings() && !logits {
        let moments = Moments::of(examples.spread(MOMENT_ROWS).view());
        if let Some(columns) = moments.backbone(settings.units, &options.device)? {
            backbone = ShippedConfig::from(StandardizeConfig { width });
            pretrained = Some(columns);
        }
        config_of_embeddings(settings, options, moments.view(&sample, settings.units).view())
    } else {
        let scale = settings.length_scale.unwrap_or_else(|| median_length_scale(sample.view()));
        config(settings, options, scale)
    };
    if logits || matches!(examples.preparation, Preparation::Texts(_)) {
        // What terms tell, or logits, is linear, and the vectors are about as long as the random
        // features.
        config.gaussian_process.features.linear = 1.0;
    }
    config.gaussian_process.features.count = features;
    if width > features {
        // Random directions of so many dimensions are orthogonal enough.
        config.gaussian_process.features.kind = FeatureKind::Gaussian;
    }
    Ok(Estimator { config, backbone, pretrained, head: None })
}

pub(super) fn fit_vectors(
    examples: &Examples,
    settings: &Settings,
    start: Option<&Head>,
    options: &Options<'_>,
) -> Result<Fit> {
    let learning = &examples.learning;
    let table = matches!(examples.preparation, Preparation::Table(_));
    let Estimator { mut config, backbone, pretrained, .. } =
        examples.estimator(settings, options.features, options)?;
    let width = Shipped::width(&backbone);
    let targets = learning.train.clone();
    let data: Labelled<ShippedBatch> = match &examples.train {
        TrainInputs::Mapped(mapped) => Labelled::new(Shipped::inputs(mapped.clone()), targets)?,
        TrainInputs::Vectors(vectors)
        | TrainInputs::CrossFitted { cross_fitted: vectors, .. }
        | TrainInputs::Logits { vectors, .. } => {
            Labelled::new(Shipped::inputs(Table::new(vectors.view())?), targets)?
        }
        TrainInputs::Sentences(_) => {
            return Err(Error::Unsupported("sentences are no vectors".to_string()));
        }
    };
    let started = Instant::now();
    let (model, words) = if let TrainInputs::Logits { factor, .. } = &examples.train {
        let weights = logit_weights(&config, learning.names.len(), width, *factor);
        let estimator = Estimator::new(config, backbone);
        let model = given_output(&estimator, weights, &data, fit_options(options, learning))?;
        let mean = match options.keep_classifier {
            true => "the classifier's own logits, kept",
            false => "what the terms tell, solved",
        };
        (model, format!("{mean}; variance by a Gaussian process"))
    } else if is_direct(options, table) {
        let estimator = Estimator { config, backbone, pretrained, head: start.cloned() };
        let (model, found) = fit_output(&estimator, &data, fit_options(options, learning))?;
        let words = format!(
            "output layer solved in {} iterations{}",
            found.iterations,
            if found.converged { "" } else { ", not converged" }
        );
        (model, words)
    } else {
        let backbone = ResFfnConfig { inputs: width, width: 128, depth: 4, ..Default::default() };
        config.training.learning_rate = 1e-3;
        config.training.batch_size = 64;
        let estimator = Estimator::new(config, ShippedConfig::from(backbone));
        let model = fit(&estimator, &data, fit_options(options, learning))?;
        let words = match options.method.recipe().output {
            Output::ExactGaussianProcess => "exact Gaussian process on the inputs".to_string(),
            _ => format!("residual network, {} epochs", options.epochs()),
        };
        (model, words)
    };
    let model = match &examples.train {
        TrainInputs::CrossFitted { vectors, .. } => remembering(model, vectors)?,
        _ => model,
    };
    let seconds = started.elapsed().as_secs_f64();
    calibrated(Fit { model, tokenizer: None, words, seconds }, examples)
}

/// The mean square of logits beside features whose vectors have length 1.
const LOGITS: f32 = 0.5;

/// What logits are multiplied by that have such a sum of squares on average.
pub(super) fn logit_factor(squares: f32) -> f32 {
    (LOGITS / squares.max(f32::MIN_POSITIVE)).sqrt().min(1.0)
}

/// Output weights that take the first numbers of a vector for the logits times a factor. Random
/// features say nothing about the mean, and all about the variance.
fn logit_weights(config: &ModelConfig, outputs: usize, width: usize, factor: f32) -> Vec<f32> {
    let features = &config.gaussian_process.features;
    let mut weights = vec![0.0; features.dimension(width) * outputs];
    for output in 0..outputs {
        weights[(features.count + output) * outputs + output] =
            1.0 / (factor * features.linear as f32);
    }
    weights
}

/// The model with a posterior of other vectors than it was fitted to: those that the rows will have
/// when they come again, to be forgotten or added once more.
fn remembering(model: ShippedModel, vectors: &Array2<f32>) -> Result<ShippedModel> {
    const CHUNK: usize = 4096;
    let mut sums: Vec<Precision> = Vec::new();
    if model.precisions().next().is_none() {
        return Ok(model);
    }
    for vectors in vectors.axis_chunks_iter(Axis(0), CHUNK) {
        let parts = model.accumulate_any(ModelInputs::Vectors(vectors))?;
        match sums.is_empty() {
            true => sums = parts,
            false => {
                sums.iter_mut().zip(&parts).try_for_each(|(sum, part)| sum.merge(part))?;
            }
        }
    }
    model.with_precisions(sums)
}

/// The model with scale and mean-field factor chosen on held-out rows.
pub(super) fn calibrated(fit: Fit, examples: &Examples) -> Result<Fit> {
    let Targets::Classes { labels, .. } = &examples.learning.held_out else { return Ok(fit) };
    let prediction = predict(&fit, &examples.held_out)?;
    if prediction.variance.is_none() {
        return Ok(fit);
    }
    // The exact Gaussian process has no output weights to scale.
    let scaled = fit.model.precisions().next().is_some();
    let found = best_calibration(&prediction, labels, scaled)?;
    let Fit { model, .. } = fit;
    let model = if found.scale == 1.0 { model } else { model.with_logit_scale(found.scale)? };
    let model = model.with_integration(Integration::MeanField { factor: found.factor })?;
    Ok(Fit { model, ..fit })
}

/// What a fitted network predicts for prepared rows.
pub(super) fn predict(fit: &Fit, inputs: &Prepared) -> Result<Prediction> {
    match (inputs, &fit.tokenizer) {
        (Prepared::Vectors(vectors), _) => {
            fit.model.predict_any(ModelInputs::Vectors(vectors.view()))
        }
        (Prepared::Encoded(rows), _) => {
            fit.model.predict_any(ModelInputs::Vectors(rows.vectors.view()))
        }
        (Prepared::Texts(texts), Some(tokenizer)) => {
            let sentences = tokenizer.sentences(&fit.model, texts)?;
            fit.model.predict_any(ModelInputs::Sentences(&sentences))
        }
        (Prepared::Texts(_), None) => {
            Err(Error::Unsupported("the model has no tokenizer".to_string()))
        }
    }
}
