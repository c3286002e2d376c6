//! Networks for every kind of input.

use std::time::Instant;

use burn::tensor::Tensor;
use ndarray::{Array2, ArrayView2, Axis};
use sngp::backbone::{
    Backbone, Identity, IdentityConfig, ResFfn, ResFfnConfig, WideResNet, WideResNetConfig,
};
use sngp::data::{Inputs, Labelled, Targets};
use sngp::likelihood::{Gaussian, Likelihood};
use sngp::method::Output;
use sngp::model::{AnyModel, Estimator, FitOptions, Model, ModelConfig};
use sngp::nn::FeatureKind;
use sngp::posterior::Curvature;
use sngp::predict::{Integration, Prediction};
use sngp::{Error, Result};

use super::images::ImageRecipe;
use super::inputs::ImageRows;
use super::labels::Learning;
use super::model::Fitted;
use super::recipe::{Prepared, Recipe};
use super::train::TrainOptions;
use super::tuning::calibrate;

/// Rows whose distances tell the length scale.
const SAMPLE: usize = 1000;

/// A fitted network, how it was fitted in words, and the seconds of fit and posterior.
pub(super) struct Fit {
    pub fitted: Fitted,
    pub words: String,
    pub seconds: f64,
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
    if options.regression {
        config.likelihood = Likelihood::Gaussian(Gaussian::default());
        config.gaussian_process.l2 = 1.0;
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

pub(super) fn fit_vectors(
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

pub(super) fn fit_images(
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
    let backbone =
        WideResNetConfig { depth: 10, widen: 1, image: [3, size, size], ..Default::default() };
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
    // The exact Gaussian process has no output weights to scale.
    let found = calibrate(prediction, labels, model.precisions().next().is_some())?;
    let model = if found.scale == 1.0 { model } else { model.with_logit_scale(found.scale)? };
    model.with_integration(Integration::MeanField { factor: found.factor })
}
