//! The networks of a benchmark: trained where they are missing, tuned, measured.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use burn::tensor::Device;
use sngp::hash::sha256;
use sngp::method::{Method, Recipe};
use sngp::metrics::{accuracy, nll};
use sngp::model::{FitOptions, Model, ModelConfig, ShippedModel};
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
    /// Tells what takes a while.
    pub say: &'a (dyn Fn(&str) + Sync),
}

/// The networks of a study.
pub struct Networks<'a> {
    /// What they are trained on.
    pub study: &'a dyn Study,
    /// Where and how.
    pub options: RunOptions<'a>,
    /// The experiment's name in results.
    pub name: &'a str,
    /// What is tried in place of the study's own settings.
    pub alter: Option<&'a dyn Fn(&mut ModelConfig)>,
}

impl Networks<'_> {
    /// What `measure` finds of a method with one seed, or what it found when this program measured
    /// the same networks before. `measured_on` names everything the figures depend on beside them.
    pub fn measure(
        &self,
        method: &Method,
        seed: u64,
        measured_on: &str,
        measure: &dyn Fn(ShippedModel, &mut Measured) -> Result<()>,
    ) -> Result<Measured> {
        let config = self.config(method, seed)?;
        let single = single_method(&config.method.recipe())?;
        let (device, tuning) = (self.options.device, self.tuning(&single, seed)?);
        let here = format!(
            "{} {} {device:?}",
            provenance::program(),
            provenance::cpu(rayon::current_num_threads())
        );
        let mut parts = format!("{here} {config:?} {tuning} {measured_on}");
        for index in 0..config.method.recipe().members as u64 {
            parts += &self.fingerprint(&single, seed + index)?;
        }
        let fingerprint = sha256(parts.as_bytes());
        let file = measured_file(self.options.runs, method.name(), seed);
        if let Some(found) = Measured::read(&file, &fingerprint) {
            return Ok(found);
        }
        let model = self.model(method, seed)?;
        (self.options.say)(&format!("{}: measuring {method} seed {seed}", self.name));
        let mut measured = Measured { fingerprint, ..Measured::default() };
        self.held_out(&model, &mut measured)?;
        measure(model, &mut measured)?;
        measured.write(&file)?;
        Ok(measured)
    }

    /// Adds what was measured of a method with one seed.
    pub fn add(&self, method: &Method, measured: &Measured, measurements: &mut Measurements) {
        for figure in &measured.figures {
            let (split, metric) = (&figure.split, &figure.metric);
            measurements.add(self.name, method.name(), split, metric, figure.value);
        }
    }

    /// What choices between settings are to be made by, and what was chosen for this model.
    fn held_out(&self, model: &ShippedModel, measured: &mut Measured) -> Result<()> {
        let held_out = self.study.validation();
        let prediction = model.predict(&*held_out.inputs)?;
        let (probabilities, right) = (prediction.probabilities()?, class_labels(held_out)?);
        measured.add("validation", "accuracy", accuracy(probabilities, right)?);
        measured.add("validation", "nll", nll(probabilities, right)?);
        let (config, tuning) = (model.config(), self.study.tuning());
        if prediction.variance.is_some() && !tuning.factors.is_empty() {
            measured.add("tuned", "mean_field_factor", config.integration.mean_field_factor());
        }
        if prediction.variance.is_some() && !tuning.ridges.is_empty() {
            measured.add("tuned", "ridge", config.posterior.ridge);
        }
        Ok(())
    }

    fn config(&self, method: &Method, seed: u64) -> Result<ModelConfig> {
        let mut config = ModelConfig { seed, ..self.study.model_for(method)? };
        if let Some(alter) = self.alter {
            alter(&mut config);
        }
        Ok(config)
    }

    /// A method's model. Networks are shared between methods that train them alike: MC dropout has
    /// the deterministic one, an ensemble those of several seeds.
    pub fn model(&self, method: &Method, seed: u64) -> Result<ShippedModel> {
        let config = self.config(method, seed)?;
        let recipe = config.method.recipe();
        let single = single_method(&recipe)?;
        let parts = (0..recipe.members as u64)
            .map(|index| self.network(&single, seed + index))
            .collect::<Result<Vec<_>>>()?;
        // How the networks were made, and what was chosen for the first of them.
        let first = parts[0].config().clone();
        let config = ModelConfig { method: config.method, score: config.score, seed, ..first };
        Model::assemble(config, parts)
    }

    /// A hash of everything a network's training depends on.
    fn fingerprint(&self, method: &Method, seed: u64) -> Result<String> {
        let study = self.study;
        let estimator = study.estimator(self.config(method, seed)?);
        let training = estimator.fingerprint(study.train(), Some(study.validation()), seed);
        let all = format!("{training} {} {:?}", study.depends_on(), study.labels());
        Ok(sha256(all.as_bytes()))
    }

    /// What a trained network is settled by: where it is another, the network is settled anew.
    fn tuning(&self, method: &Method, seed: u64) -> Result<String> {
        let config = self.config(method, seed)?;
        let (tuning, integration) = (self.study.tuning(), &config.integration);
        let (ridge, examples) = (config.posterior.ridge, self.study.chosen_on().inputs.digest());
        let parts = format!("{tuning:?} {ridge} {integration:?} {} {examples:?}", config.score());
        Ok(sha256(parts.as_bytes()))
    }

    /// A trained and tuned network, from disk where it is there.
    fn network(&self, method: &Method, seed: u64) -> Result<ShippedModel> {
        let (study, options) = (self.study, &self.options);
        study.tuning().check_integration(self.config(method, seed)?.integration)?;
        let fingerprint = self.fingerprint(method, seed)?;
        let tuning = self.tuning(method, seed)?;
        let folder = network_folder(options.runs, method.name(), seed);
        study.tuning().check_rows(study.validation().rows())?;
        if folder.exists() {
            let model = study.load(&folder, options.device)?;
            let training = Training::parse(&folder, model.attachment(TRAINING))?;
            training.check(&folder, &fingerprint)?;
            if training.tuning == tuning {
                return Ok(model);
            }
            let model = self.settled(model, method, Training { tuning, ..training })?;
            study.save(model.clone(), &folder)?;
            return Ok(model);
        }
        let checkpoints = options.runs.join(format!("{method}-{seed}.checkpoints"));
        let (started, epochs) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let name = format!("{} {method} seed {seed}", self.name);
        let observe = |_| -> Box<dyn Observer> {
            let inner = (options.observe)(name.clone());
            Box::new(Curve { inner, epochs: epochs.clone(), started })
        };
        let fit = FitOptions {
            validation: Some(study.validation()),
            labels: Some(study.labels().to_vec()),
            checkpoints: Some(Checkpoints::new(&checkpoints)),
            interrupter: options.interrupter.clone(),
            observe: &observe,
            ..FitOptions::new(options.device)
        };
        let model = study.fit(study.estimator(self.config(method, seed)?), fit, options)?;
        let training = Training {
            fingerprint,
            tuning,
            seconds: started.elapsed().as_secs_f64(),
            epochs: epochs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone(),
        };
        let model = self.settled(model, method, training)?;
        study.save(model.clone(), &folder)?;
        if checkpoints.exists() {
            fs::remove_dir_all(&checkpoints).map_err(Error::io(&checkpoints))?;
        }
        Ok(model)
    }

    /// A trained network with everything chosen that needs no training, whatever was chosen for it
    /// before.
    fn settled(
        &self,
        model: ShippedModel,
        method: &Method,
        training: Training,
    ) -> Result<ShippedModel> {
        let (held_out, tuning) = (self.study.validation(), self.study.tuning());
        let config = self.config(method, model.config().seed)?;
        let mut model = model.with_score(config.score).with_integration(config.integration)?;
        if model.precisions().next().is_some() {
            model = model.with_ridge(config.posterior.ridge)?;
        }
        let model = decide(tune(model, self.study.chosen_on(), tuning)?, held_out, tuning)?;
        model.with_attachment(TRAINING, training.json()?)
    }
}

/// The method that trains one network as this recipe does, and predicts with one pass.
pub(crate) fn single_method(recipe: &Recipe) -> Result<Method> {
    let alike = |method: &Method| {
        let single = method.recipe();
        (single.output, single.spectral) == (recipe.output, recipe.spectral)
            && (single.members, single.passes) == (1, 1)
    };
    let found = Method::all().into_iter().find(alike);
    found.ok_or_else(|| Error::Unsupported("no method trains such networks".to_string()))
}
