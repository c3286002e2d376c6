//! One method on one drawn problem.

use burn::tensor::Device;
use sngp::Result;
use sngp::backbone::ResFfn;
use sngp::data::{Labelled, Table, Targets};
use sngp::method::{Method, Output};
use sngp::metrics::{Classification, Detection, inside_and_outside};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::score::{Margin, ScoreFunction, Variance};
use sngp::train::{Checkpoints, Interrupter, Observer};

use super::reference::Reference;
use super::surface::{grid_table, panel};
use crate::dataset::Plane;
use crate::experiment::PlaneExperiment;
use crate::report::Measurements;
use sngp_report::figure::Surface;

/// Where and how a run is made.
pub struct RunOptions<'a> {
    /// The device.
    pub device: &'a Device,
    /// Stops it from outside.
    pub interrupter: Interrupter,
    /// Makes the observer of each member.
    pub observe: &'a (dyn Fn(usize) -> Box<dyn Observer> + Sync),
    /// Where to save checkpoints, if anywhere.
    pub checkpoints: Option<Checkpoints>,
}

/// A finished run.
pub struct PlaneRun {
    /// The fitted model.
    pub model: Model<ResFfn>,
    /// Its surface by `variance` where it has one, by `margin` otherwise.
    pub surface: Surface,
    /// Its surface by `margin`.
    pub margin: Surface,
    /// `(split, metric, value)`.
    pub measurements: Vec<(&'static str, String, f64)>,
}

impl PlaneRun {
    /// Adds the measurements to a benchmark's.
    pub fn record(&self, measurements: &mut Measurements, dataset: &str) {
        let method = self.model.config().method.name();
        for (split, metric, value) in &self.measurements {
            measurements.add(dataset, method, split, metric, *value);
        }
    }
}

/// Fits a method to a problem and measures it.
pub fn run(
    experiment: &PlaneExperiment,
    method: &Method,
    plane: &Plane,
    reference: &Reference,
    seed: u64,
    options: RunOptions<'_>,
) -> Result<PlaneRun> {
    let mut config = ModelConfig { seed, ..experiment.model_for(method)? };
    // What is asked here is how far away a point is, and that is the variance where there is one.
    if method.recipe().output == Output::GaussianProcess {
        config.score.get_or_insert(Variance {}.into());
    }
    let targets = Targets::classes(plane.train.labels.clone(), 2)?;
    let data = Labelled::new(Table::new(plane.train.inputs.view())?, targets)?;
    let fit = FitOptions {
        interrupter: options.interrupter,
        observe: options.observe,
        checkpoints: options.checkpoints,
        ..FitOptions::new(options.device)
    };
    let model = Estimator::<ResFfn>::new(config, experiment.backbone.clone()).fit(&data, fit)?;

    let test = model.predict(&Table::new(plane.test.inputs.view())?)?;
    let ood = model.predict(&Table::new(plane.ood.view())?)?;
    let grid = model.predict(&grid_table()?)?;
    let has_variance = grid.variance.is_some();
    let score = model.config().score();
    let margin = Margin {}.evaluate(&grid)?;
    let surface = if has_variance { Variance {}.evaluate(&grid)? } else { margin.clone() };

    let mut measurements = Vec::new();
    for metric in Classification::all() {
        let value = metric.evaluate(test.probabilities()?, &plane.test.labels)?;
        measurements.push(("test", metric.name().to_string(), value));
    }
    let (scores, is_ood) = inside_and_outside(&score.evaluate(&test)?, &score.evaluate(&ood)?);
    for metric in Detection::all() {
        measurements.push(("ood", metric.name().to_string(), metric.evaluate(&scores, &is_ood)?));
    }
    if has_variance {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        for (split, prediction) in [("test", &test), ("ood", &ood)] {
            let value = mean(&Variance {}.evaluate(prediction)?);
            measurements.push((split, "mean_variance".to_string(), value));
        }
    }
    // Ranks are those of this score; the difference needs one on the scale of the variance, which
    // is the surface that figures show.
    let own = score.evaluate(&grid)?;
    for (metric, value) in [
        ("exact_gp_rank_correlation", reference.rank_correlation(&own)?),
        ("exact_gp_difference", reference.mean_absolute_difference(&surface)?),
        ("distance_rank_correlation", reference.distance_awareness(&own)?),
    ] {
        measurements.push(("grid", metric.to_string(), value));
    }
    Ok(PlaneRun {
        surface: panel(method.name(), plane, surface),
        margin: panel(method.name(), plane, margin),
        model,
        measurements,
    })
}
