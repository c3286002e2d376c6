//! One method of an experiment: trained where it is missing, tuned, measured.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use burn::tensor::Device;
use sngp::backbone::Backbone;
use sngp::method::{Method, Recipe};
use sngp::metrics::{accuracy, nll};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::text::TextModel;
use sngp::train::{Checkpoints, Interrupter, Observer};
use sngp::{Error, Result};

use super::evaluate::measure;
use super::setup::Setup;
use super::store::{Curve, TRAINING, Training, network_folder};
use super::tuning::{class_labels, decide, tune};
use crate::report::Measurements;

/// Sentences whose latency is measured one by one.
const TIMED: usize = 200;

/// Where and how a benchmark runs.
pub struct RunOptions<'a> {
    /// The device.
    pub device: &'a Device,
    /// Stops it from outside.
    pub interrupter: Interrupter,
    /// Makes the observer of a training from its name.
    pub observe: &'a (dyn Fn(String) -> Box<dyn Observer> + Sync),
    /// Where networks are kept.
    pub runs: &'a Path,
}

/// A text benchmark.
pub struct Bench<'a, B: Backbone> {
    /// Data and encoder.
    pub setup: &'a Setup<B>,
    /// Where and how.
    pub options: RunOptions<'a>,
    /// The experiment's name in results.
    pub name: &'a str,
}

impl<B: Backbone> Bench<'_, B> {
    /// Measures a method with one seed. Networks are shared between methods that train them alike:
    /// MC dropout has the deterministic one, an ensemble those of several seeds.
    pub fn run(&self, method: &Method, seed: u64, measurements: &mut Measurements) -> Result<()> {
        let config = ModelConfig { seed, ..self.setup.experiment.model_for(method)? };
        let recipe = config.method.recipe();
        let single = single_method(&recipe)?;
        let mut parts = Vec::new();
        for index in 0..recipe.members as u64 {
            parts.push(self.network(&single, seed + index)?);
        }
        let first = parts[0].config();
        // What was chosen for the first network holds for all of them.
        let config = ModelConfig {
            integration: first.integration,
            posterior: first.posterior.clone(),
            ..config
        };
        let model = Model::assemble(config, parts)?;
        let task = &self.setup.task;
        let test = model.predict(&*task.test.inputs)?;
        let strangers = model.predict(&*task.out_of_scope)?;
        let labels = class_labels(&task.test)?;
        // What choices between settings are to be made by.
        let held_out = model.predict(&*task.validation.inputs)?;
        let (probabilities, right) = (held_out.probabilities()?, class_labels(&task.validation)?);
        for (metric, value) in
            [("accuracy", accuracy(probabilities, right)?), ("nll", nll(probabilities, right)?)]
        {
            measurements.add(self.name, method.name(), "validation", metric, value);
        }
        let factor = model.config().integration.mean_field_factor();
        let ridge = model.config().posterior.ridge;
        for (split, metric, value) in measure(&test, labels, &strangers, &model.config().score())? {
            measurements.add(self.name, method.name(), &split, &metric, value);
        }
        if test.variance.is_some() {
            measurements.add(self.name, method.name(), "tuned", "mean_field_factor", factor);
            measurements.add(self.name, method.name(), "tuned", "ridge", ridge);
        }
        let latency = self.latency(&self.setup.export(model)?)?;
        measurements.add(self.name, method.name(), "one sentence", "latency_ms", latency);
        Ok(())
    }

    /// A trained and tuned network, from disk where it is there.
    fn network(&self, method: &Method, seed: u64) -> Result<Model<B>> {
        let (setup, options) = (self.setup, &self.options);
        let config = ModelConfig { seed, ..setup.experiment.model_for(method)? };
        let mut estimator = Estimator::<B>::new(config.clone(), setup.backbone.clone())
            .with_pretrained(setup.pretrained.clone());
        let task = &setup.task;
        let own = estimator.fingerprint(&task.train, Some(&task.validation), seed);
        let fingerprint = setup.fingerprint(&own);
        let folder = network_folder(options.runs, method.name(), seed);
        if folder.exists() {
            let model = setup.import(&folder, options.device)?;
            Training::parse(&folder, model.attachment(TRAINING))?.check(&folder, &fingerprint)?;
            return Ok(model);
        }
        setup.experiment.tuning.check_rows(task.validation.rows())?;
        let checkpoints = options.runs.join(format!("{method}-{seed}.checkpoints"));
        let (started, epochs) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let name = format!("{} {method} seed {seed}", self.name);
        let observe = |_| -> Box<dyn Observer> {
            let inner = (options.observe)(name.clone());
            Box::new(Curve { inner, epochs: epochs.clone(), started })
        };
        estimator.head = setup.head(&config, options)?;
        let fit = FitOptions {
            validation: Some(&task.validation),
            labels: Some(task.labels.clone()),
            checkpoints: Some(Checkpoints::new(&checkpoints)),
            interrupter: options.interrupter.clone(),
            observe: &observe,
            ..FitOptions::new(options.device)
        };
        let model = estimator.fit(&task.train, fit)?;
        let tuning = &setup.experiment.tuning;
        let model = tune(model, &task.validation, tuning)?;
        let model = decide(model, &task.validation, tuning)?;
        let training = Training {
            fingerprint,
            seconds: started.elapsed().as_secs_f64(),
            epochs: epochs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone(),
        };
        let model = model.with_attachment(TRAINING, training.json()?)?;
        setup.export(model.clone())?.save(&folder)?;
        fs::remove_dir_all(&checkpoints).map_err(Error::io(&checkpoints))?;
        Ok(model)
    }

    /// Milliseconds a sentence, one at a time from text to prediction: the median.
    fn latency(&self, model: &TextModel) -> Result<f64> {
        let mut times = Vec::new();
        for text in self.setup.sentences.test.texts.iter().take(TIMED) {
            let started = Instant::now();
            model.predict(&[text])?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied();
        median.ok_or_else(|| Error::Data("there are no test sentences".to_string()))
    }
}

/// The method that trains one network as this recipe does, and predicts with one pass.
fn single_method(recipe: &Recipe) -> Result<Method> {
    let alike = |method: &Method| {
        let single = method.recipe();
        (single.output, single.spectral) == (recipe.output, recipe.spectral)
            && (single.members, single.passes) == (1, 1)
    };
    let found = Method::all().into_iter().find(alike);
    found.ok_or_else(|| Error::Unsupported("no method trains such networks".to_string()))
}
