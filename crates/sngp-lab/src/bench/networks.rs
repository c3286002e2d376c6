//! The networks of a benchmark: trained where they are missing, tuned, measured.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use burn::tensor::Device;
use sngp::hash::sha256;
use sngp::method::{Method, Recipe};
use sngp::metrics::{accuracy, nll};
use sngp::model::{FitOptions, Model, ModelConfig};
use sngp::train::{Checkpoints, Interrupter, Observer};
use sngp::{Error, Result};

use super::store::{Curve, Measured, TRAINING, Training, measured_file, network_folder};
use super::study::Study;
use super::tuning::{class_labels, decide, tune};
use crate::provenance;
use crate::report::Measurements;

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

/// The networks of a study.
pub struct Networks<'a, S: Study> {
    /// What they are trained on.
    pub study: &'a S,
    /// Where and how.
    pub options: RunOptions<'a>,
    /// The experiment's name in results.
    pub name: &'a str,
}

impl<S: Study> Networks<'_, S> {
    /// What `measure` finds of a method with one seed, or what it found when this program measured
    /// the same networks before. `measured_on` names everything the figures depend on beside them.
    pub fn measure(
        &self,
        method: &Method,
        seed: u64,
        measured_on: &str,
        measure: impl FnOnce(Model<S::Backbone>, &mut Measured) -> Result<()>,
    ) -> Result<Measured> {
        let config = ModelConfig { seed, ..self.study.model_for(method)? };
        let single = single_method(&config.method.recipe())?;
        let mut parts = format!("{} {config:?} {measured_on}", provenance::commit());
        for index in 0..config.method.recipe().members as u64 {
            parts += &self.fingerprint(&single, seed + index)?;
        }
        let fingerprint = sha256(parts.as_bytes());
        let file = measured_file(self.options.runs, method.name(), seed);
        if let Some(found) = Measured::read(&file, &fingerprint) {
            return Ok(found);
        }
        let model = self.model(method, seed)?;
        let mut measured = Measured { fingerprint, ..Measured::default() };
        self.held_out(&model, &mut measured)?;
        measure(model, &mut measured)?;
        measured.write(&file)?;
        Ok(measured)
    }

    /// The same, added to others.
    pub fn add(&self, method: &Method, measured: &Measured, measurements: &mut Measurements) {
        for figure in &measured.figures {
            let (split, metric) = (&figure.split, &figure.metric);
            measurements.add(self.name, method.name(), split, metric, figure.value);
        }
    }

    /// What choices between settings are to be made by, and what was chosen for this model.
    fn held_out(&self, model: &Model<S::Backbone>, measured: &mut Measured) -> Result<()> {
        let held_out = self.study.validation();
        let prediction = model.predict(&*held_out.inputs)?;
        let (probabilities, right) = (prediction.probabilities()?, class_labels(held_out)?);
        measured.add("validation", "accuracy", accuracy(probabilities, right)?);
        measured.add("validation", "nll", nll(probabilities, right)?);
        if prediction.variance.is_some() && self.study.tuning().chooses() {
            let config = model.config();
            measured.add("tuned", "mean_field_factor", config.integration.mean_field_factor());
            measured.add("tuned", "ridge", config.posterior.ridge);
        }
        Ok(())
    }

    /// A method's model. Networks are shared between methods that train them alike: MC dropout has
    /// the deterministic one, an ensemble those of several seeds.
    pub fn model(&self, method: &Method, seed: u64) -> Result<Model<S::Backbone>> {
        let config = ModelConfig { seed, ..self.study.model_for(method)? };
        let recipe = config.method.recipe();
        let single = single_method(&recipe)?;
        let parts = (0..recipe.members as u64)
            .map(|index| self.network(&single, seed + index))
            .collect::<Result<Vec<_>>>()?;
        let first = parts[0].config();
        // What was chosen for the first network holds for all of them.
        let config = ModelConfig {
            integration: first.integration,
            posterior: first.posterior.clone(),
            ..config
        };
        Model::assemble(config, parts)
    }

    /// A hash of everything a network depends on.
    fn fingerprint(&self, method: &Method, seed: u64) -> Result<String> {
        let study = self.study;
        let config = ModelConfig { seed, ..study.model_for(method)? };
        let estimator = study.estimator(config);
        let training = estimator.fingerprint(study.train(), Some(study.validation()), seed);
        let tuning = study.tuning();
        let all = format!("{training} {} {tuning:?} {:?}", study.depends_on(), study.labels());
        Ok(sha256(all.as_bytes()))
    }

    /// A trained and tuned network, from disk where it is there.
    fn network(&self, method: &Method, seed: u64) -> Result<Model<S::Backbone>> {
        let (study, options) = (self.study, &self.options);
        let fingerprint = self.fingerprint(method, seed)?;
        let folder = network_folder(options.runs, method.name(), seed);
        if folder.exists() {
            let model = study.load(&folder, options.device)?;
            Training::parse(&folder, model.attachment(TRAINING))?.check(&folder, &fingerprint)?;
            return Ok(model);
        }
        let (held_out, tuning) = (study.validation(), study.tuning());
        tuning.check_rows(held_out.rows())?;
        let checkpoints = options.runs.join(format!("{method}-{seed}.checkpoints"));
        let (started, epochs) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let name = format!("{} {method} seed {seed}", self.name);
        let observe = |_| -> Box<dyn Observer> {
            let inner = (options.observe)(name.clone());
            Box::new(Curve { inner, epochs: epochs.clone(), started })
        };
        let fit = FitOptions {
            validation: Some(held_out),
            labels: Some(study.labels().to_vec()),
            checkpoints: Some(Checkpoints::new(&checkpoints)),
            interrupter: options.interrupter.clone(),
            observe: &observe,
            ..FitOptions::new(options.device)
        };
        let config = ModelConfig { seed, ..study.model_for(method)? };
        let model = study.fit(study.estimator(config), fit, options)?;
        let model = tune(model, held_out, tuning)?;
        let model = decide(model, held_out, tuning)?;
        let training = Training {
            fingerprint,
            seconds: started.elapsed().as_secs_f64(),
            epochs: epochs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone(),
        };
        let model = model.with_attachment(TRAINING, training.json()?)?;
        study.save(model.clone(), &folder)?;
        if checkpoints.exists() {
            fs::remove_dir_all(&checkpoints).map_err(Error::io(&checkpoints))?;
        }
        Ok(model)
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
