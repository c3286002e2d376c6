//! A residual network for tables, with the Gaussian process on its hidden vectors.
//!
//! Where the function is deep, no kernel on the columns themselves is as good. The network is
//! trained under spectral normalization with a dense output, and stops where held-out rows get no
//! better; the Gaussian process on its hidden vectors is then a convex problem of its own.

use std::time::Instant;

use ndarray::{Array2, Axis};
use sngp::backbone::{ResFfnConfig, Shipped, ShippedBatch, ShippedConfig};
use sngp::data::{Labelled, Table, Targets};
use sngp::method::{DnnSn, Sngp};
use sngp::model::{AnyModel, Estimator, ModelInputs, ShippedModel, fit, fit_output};
use sngp::train::{Decay, EarlyStopping, Schedule};
use sngp::{Error, Result};

use super::examples::{Examples, TrainInputs};
use super::network::{Fit, Settings, calibrated, config, fit_options, median_length_scale};
use super::options::Options;
use super::tune::tune;
use crate::input::{Preparation, Prepared};

/// Steps of a training, and the most passes over a small table.
const STEPS: usize = 6000;
const MOST_EPOCHS: usize = 300;
const BATCH: usize = 64;
/// Passes without improvement that are waited for, as a share of all.
const PATIENCE: f64 = 0.25;
/// Norm bound of the blocks: the least that does not cost accuracy on such tables.
const BOUND: f64 = 0.95;
/// Fewer rows than this teach a network nothing.
const FEWEST: usize = 100;

/// Held-out negative log-likelihood of classes that leaves nothing to gain.
const ENOUGH: f64 = 0.05;

/// Whether a network is worth a try for classes: on tables, for SNGP as the user knows it, where
/// nobody says that nothing is to be tried.
pub(super) fn worth_a_network(examples: &Examples, options: &Options<'_>) -> bool {
    let table = matches!(examples.preparation, Preparation::Table(_));
    let enough = examples.rows.len() >= FEWEST && !options.regression();
    let asked = options.length_scale.is_none() && options.tune != Some(false);
    table && enough && asked && options.method == Sngp {}.into()
}

/// The better one, by held-out rows, of a fit on the columns with its loss and one on a network.
pub(super) fn better(
    (loss, columns): (f64, Fit),
    examples: &Examples,
    options: &Options<'_>,
    remarks: &mut Vec<String>,
) -> Result<Fit> {
    if loss < ENOUGH {
        return Ok(columns);
    }
    let trained = backbone(examples, options)?;
    let (deep_loss, deep) =
        tune(examples, options, |settings| trained.fit(examples, settings, options))?;
    remarks.push(format!(
        "negative log-likelihood on held-out rows: {loss:.4} by a Gaussian process on the columns, \
         {deep_loss:.4} by one on a residual network; the better one is kept"
    ));
    Ok(if deep_loss < loss { deep } else { columns })
}

/// Trains the network, watching the held-out rows.
pub(super) fn backbone(examples: &Examples, options: &Options<'_>) -> Result<Trained> {
    let vectors = examples.vectors()?;
    let started = Instant::now();
    let learning = &examples.learning;
    let data = labelled(vectors, learning.train.clone())?;
    let Prepared::Vectors(held_out) = &examples.held_out else { return Err(no_vectors()) };
    let validation = labelled(held_out, learning.held_out.clone())?;
    let rows = vectors.nrows();
    let mut config = config(&Settings::of(options), options, 1.0);
    config.method = DnnSn {}.into();
    config.spectral.dense_bound = BOUND;
    config.training.batch_size = BATCH.min(rows.div_ceil(8)).max(8);
    let steps = rows.div_ceil(config.training.batch_size);
    config.training.epochs = STEPS.div_ceil(steps).clamp(10, MOST_EPOCHS);
    config.training.learning_rate = 2e-3;
    config.training.weight_decay = 1e-3;
    config.training.schedule = Schedule { warm_up: 0.05, decay: Decay::Cosine };
    let patience = (config.training.epochs as f64 * PATIENCE).ceil() as usize;
    config.training.early_stopping = Some(EarlyStopping { patience });
    let shape = ResFfnConfig { inputs: vectors.ncols(), width: 128, depth: 6, dropout: 0.0 };
    let shape = ShippedConfig::from(shape);
    let estimator = Estimator::new(config, shape.clone());
    let fit_options =
        sngp::model::FitOptions { validation: Some(&validation), ..fit_options(options, learning) };
    let model = fit(&estimator, &data, fit_options)?;
    let hidden = model.hidden(ModelInputs::Vectors(vectors.view()))?;
    Ok(Trained { model, shape, hidden, seconds: started.elapsed().as_secs_f64() })
}

/// A trained network with its hidden vectors of the training rows.
pub(super) struct Trained {
    model: ShippedModel,
    shape: ShippedConfig,
    hidden: Array2<f32>,
    seconds: f64,
}

impl Trained {
    /// The length scale by the distances of hidden vectors.
    pub fn usual_length_scale(&self) -> f64 {
        median_length_scale(self.sample().view())
    }

    fn sample(&self) -> Array2<f32> {
        let step = self.hidden.nrows().div_ceil(1000).max(1);
        let some: Vec<usize> = (0..self.hidden.nrows()).step_by(step).collect();
        self.hidden.select(Axis(0), &some)
    }

    /// The Gaussian process on its hidden vectors.
    pub fn fit(
        &self,
        examples: &Examples,
        settings: &Settings,
        options: &Options<'_>,
    ) -> Result<Fit> {
        let vectors = examples.vectors()?;
        let started = Instant::now();
        let sample = self.sample();
        let scale = settings.length_scale.unwrap_or_else(|| self.usual_length_scale());
        let mut config = config(settings, options, scale);
        config.spectral.dense_bound = BOUND;
        let square = sample.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
        let length = square / sample.nrows().max(1) as f64;
        config.gaussian_process.features.linear = 1.0 / length.max(1e-12).sqrt();
        let network = self
            .model
            .networks()
            .next()
            .ok_or_else(|| Error::Unsupported("a trained model has a network".to_string()))?;
        let estimator =
            Estimator::new(config, self.shape.clone()).with_pretrained(network.backbone.clone());
        let data = labelled(vectors, examples.learning.train.clone())?;
        let (model, found) =
            fit_output(&estimator, &data, fit_options(options, &examples.learning))?;
        let model = model.with_spectral_of(&self.model);
        let words = format!(
            "residual network with spectral normalization; Gaussian process on it solved in {} \
             iterations",
            found.iterations
        );
        let seconds = self.seconds + started.elapsed().as_secs_f64();
        calibrated(Fit { model, tokenizer: None, words, seconds }, examples)
    }
}

pub(super) fn labelled(vectors: &Array2<f32>, targets: Targets) -> Result<Labelled<ShippedBatch>> {
    Labelled::new(Shipped::inputs(Table::new(vectors.view())?), targets)
}

impl Examples {
    /// The training rows of a table.
    pub fn vectors(&self) -> Result<&Array2<f32>> {
        match &self.train {
            TrainInputs::Vectors(vectors) => Ok(vectors),
            _ => Err(no_vectors()),
        }
    }
}

fn no_vectors() -> Error {
    Error::Unsupported("a table's rows are vectors".to_string())
}
