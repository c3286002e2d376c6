//! The search for a norm bound and a length scale on held-out data.

use std::path::Path;

use burn::tensor::Device;
use sngp::data::Labelled;
use sngp::method::{Method, Output};
use sngp::metrics::{accuracy, nll};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::{Error, Result};

use super::networks::{Networks, RunOptions};
use super::study::{BatchOf, Study};
use super::tuning::{TuningConfig, class_labels};

/// What is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The method; it has a norm bound, a length scale, or both.
    pub method: Method,
    /// The seed of every network.
    pub seed: u64,
    /// Norm bounds.
    pub bounds: Vec<f64>,
    /// Length scales.
    pub length_scales: Vec<f64>,
    /// How much accuracy a smaller bound may cost.
    pub tolerance: f64,
}

/// Settings of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The norm bound of the layers the network has.
    pub bound: f64,
    /// The length scale.
    pub length_scale: f64,
}

/// What a network with some settings is worth on held-out data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The settings.
    pub choice: Choice,
    /// The ridge chosen for it.
    pub ridge: f64,
    /// The mean-field factor chosen for it.
    pub factor: f64,
    /// Its accuracy.
    pub accuracy: f64,
    /// Its negative log-likelihood.
    pub nll: f64,
}

/// What was tried, and which of it was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Every network, in the order of its training.
    pub trials: Vec<Trial>,
    /// The one that was taken.
    pub chosen: Trial,
}

/// Which bound a study's networks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundOf {
    /// That of dense layers.
    Dense,
    /// That of convolutions.
    Convolutions,
}

impl Search {
    /// Tries the bounds first and takes the smallest that keeps the accuracy of the best one, as
    /// the paper recommends; then the length scales under it, and takes the one with the least
    /// negative log-likelihood. Ridge and factor are chosen for each network by the study's own
    /// tuning.
    pub fn run<S: Study>(
        &self,
        study: &S,
        bound_of: BoundOf,
        name: &str,
        options: &RunOptions<'_>,
    ) -> Result<Found> {
        let recipe = self.method.recipe();
        if (recipe.members, recipe.passes) != (1, 1) {
            let message = format!("{} is made of other networks; tune their method", self.method);
            return Err(Error::Unsupported(message));
        }
        let config = study.model_for(&self.method)?;
        let start = Choice {
            bound: bound_of.get(&config),
            length_scale: config.gaussian_process.features.length_scale,
        };
        let mut found = Trials { search: self, study, bound_of, name, options, done: Vec::new() };
        let bounds =
            if recipe.spectral { with(&self.bounds, start.bound) } else { vec![start.bound] };
        let tried = bounds
            .into_iter()
            .map(|bound| found.of(Choice { bound, ..start }))
            .collect::<Result<Vec<_>>>()?;
        let best = tried.iter().map(|trial| trial.accuracy).fold(0.0, f64::max);
        let keeps = |trial: &&Trial| trial.accuracy >= best - self.tolerance;
        let mut chosen = *tried.iter().find(keeps).ok_or_else(nothing)?;
        if recipe.output == Output::GaussianProcess {
            for length_scale in with(&self.length_scales, start.length_scale) {
                let trial = found.of(Choice { length_scale, ..chosen.choice })?;
                if trial.nll < chosen.nll {
                    chosen = trial;
                }
            }
        }
        Ok(Found { trials: found.done, chosen })
    }
}

fn nothing() -> Error {
    Error::Data("there is nothing to try".to_string())
}

/// The values in ascending order, with the one that is set already.
fn with(values: &[f64], own: f64) -> Vec<f64> {
    let mut values: Vec<f64> = values.iter().copied().chain([own]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

impl BoundOf {
    fn get(self, config: &ModelConfig) -> f64 {
        match self {
            Self::Dense => config.spectral.dense_bound,
            Self::Convolutions => config.spectral.convolution_bound,
        }
    }

    /// The option's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense_bound",
            Self::Convolutions => "convolution_bound",
        }
    }

    fn set(self, config: &mut ModelConfig, bound: f64) {
        match self {
            Self::Dense => config.spectral.dense_bound = bound,
            Self::Convolutions => config.spectral.convolution_bound = bound,
        }
    }
}

struct Trials<'a, S> {
    search: &'a Search,
    study: &'a S,
    bound_of: BoundOf,
    name: &'a str,
    options: &'a RunOptions<'a>,
    done: Vec<Trial>,
}

impl<S: Study> Trials<'_, S> {
    /// What settings are worth; nothing is trained twice.
    fn of(&mut self, choice: Choice) -> Result<Trial> {
        if let Some(trial) = self.done.iter().find(|trial| trial.choice == choice) {
            return Ok(*trial);
        }
        let Choice { bound, length_scale } = choice;
        let place = format!("bound-{bound}-length-{length_scale}");
        let (study, bound_of) = (self.study, self.bound_of);
        let networks = Networks {
            study: &Altered { study, bound_of, choice },
            options: RunOptions {
                runs: &self.options.runs.join(&place),
                interrupter: self.options.interrupter.clone(),
                ..*self.options
            },
            name: &format!("{} {place}", self.name),
        };
        let model = networks.model(&self.search.method, self.search.seed)?;
        let held_out = study.validation();
        let prediction = model.predict(&*held_out.inputs)?;
        let (probabilities, right) = (prediction.probabilities()?, class_labels(held_out)?);
        let trial = Trial {
            choice,
            ridge: model.config().posterior.ridge,
            factor: model.config().integration.mean_field_factor(),
            accuracy: accuracy(probabilities, right)?,
            nll: nll(probabilities, right)?,
        };
        self.done.push(trial);
        Ok(trial)
    }
}

/// A study with other settings.
struct Altered<'a, S> {
    study: &'a S,
    bound_of: BoundOf,
    choice: Choice,
}

impl<S: Study> Study for Altered<'_, S> {
    type Backbone = S::Backbone;

    fn model_for(&self, method: &Method) -> Result<ModelConfig> {
        let mut config = self.study.model_for(method)?;
        self.bound_of.set(&mut config, self.choice.bound);
        config.gaussian_process.features.length_scale = self.choice.length_scale;
        Ok(config)
    }

    fn tuning(&self) -> &TuningConfig {
        self.study.tuning()
    }

    fn train(&self) -> &Labelled<BatchOf<Self>> {
        self.study.train()
    }

    fn validation(&self) -> &Labelled<BatchOf<Self>> {
        self.study.validation()
    }

    fn labels(&self) -> &[String] {
        self.study.labels()
    }

    fn estimator(&self, config: ModelConfig) -> Estimator<Self::Backbone> {
        self.study.estimator(config)
    }

    fn depends_on(&self) -> String {
        self.study.depends_on()
    }

    fn fit(
        &self,
        estimator: Estimator<Self::Backbone>,
        fit: FitOptions<'_, Self::Backbone>,
        options: &RunOptions<'_>,
    ) -> Result<Model<Self::Backbone>> {
        self.study.fit(estimator, fit, options)
    }

    fn save(&self, model: Model<Self::Backbone>, folder: &Path) -> Result<()> {
        self.study.save(model, folder)
    }

    fn load(&self, folder: &Path, device: &Device) -> Result<Model<Self::Backbone>> {
        self.study.load(folder, device)
    }
}

impl Found {
    /// An experiment with what was chosen in it, after an account of what was tried. Comments of
    /// the experiment are lost.
    pub fn experiment(&self, text: &str, search: &Search, bound_of: BoundOf) -> Result<String> {
        let invalid = |error: &dyn std::fmt::Display| Error::Data(format!("experiment: {error}"));
        let mut experiment: toml::Table = text.parse().map_err(|error| invalid(&error))?;
        let Choice { bound, length_scale } = self.chosen.choice;
        let recipe = search.method.recipe();
        let mut own: Vec<([&str; 3], f64)> = Vec::new();
        if recipe.spectral {
            own.push((["spectral", bound_of.name(), ""], bound));
        }
        if recipe.output == Output::GaussianProcess {
            own.push((["gaussian_process", "features", "length_scale"], length_scale));
            own.push((["posterior", "ridge", ""], self.chosen.ridge));
        }
        for (path, value) in own {
            let path = ["methods", search.method.name()].into_iter().chain(path);
            let path: Vec<&str> = path.filter(|key| !key.is_empty()).collect();
            set(&mut experiment, &path, value.into()).ok_or_else(|| {
                Error::Data(format!("experiment: {} is no table", path.join(".")))
            })?;
        }
        let body = toml::to_string_pretty(&experiment).map_err(|error| invalid(&error))?;
        Ok(format!("{}\n{body}", self.account(search)))
    }

    /// What was tried, line by line.
    pub fn account(&self, search: &Search) -> String {
        let mut text = format!(
            "# {}, tuned on held-out data: the smallest bound within {} of the best accuracy,\n\
             # then the length scale with the least negative log-likelihood.\n#\n\
             # {:>8} {:>12} {:>8} {:>8} {:>9} {:>8}\n",
            search.method,
            search.tolerance,
            "bound",
            "length scale",
            "ridge",
            "factor",
            "accuracy",
            "NLL"
        );
        for trial in &self.trials {
            let Trial { choice, ridge, factor, accuracy, nll } = trial;
            let mark = if *trial == self.chosen { "  <-" } else { "" };
            text += &format!(
                "# {:>8} {:>12} {ridge:>8} {factor:>8.3} {accuracy:>9.4} {nll:>8.4}{mark}\n",
                choice.bound, choice.length_scale
            );
        }
        text
    }
}

/// Sets a value, making the tables on the way.
fn set(table: &mut toml::Table, path: &[&str], value: toml::Value) -> Option<()> {
    match path {
        [] => None,
        [key] => {
            table.insert(key.to_string(), value);
            Some(())
        }
        [key, rest @ ..] => {
            let below = table.entry(*key).or_insert_with(|| toml::Table::new().into());
            set(below.as_table_mut()?, rest, value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_set_where_it_belongs() {
        let trial = Trial {
            choice: Choice { bound: 2.0, length_scale: 8.0 },
            ridge: 0.5,
            factor: 1.0,
            accuracy: 0.9,
            nll: 0.3,
        };
        let found = Found { trials: vec![trial], chosen: trial };
        let search = Search {
            method: "sngp".parse().unwrap(),
            seed: 0,
            bounds: vec![2.0],
            length_scales: Vec::new(),
            tolerance: 0.005,
        };
        let text = "[data]\nx = 1\n[methods.sngp.posterior]\nridge = 3.0\ncurvature = 'gaussian'\n";
        let tuned = found.experiment(text, &search, BoundOf::Convolutions).unwrap();
        assert!(tuned.starts_with("# sngp"), "{tuned}");
        let table: toml::Table = tuned.parse().unwrap();
        let own = &table["methods"]["sngp"];
        assert_eq!(own["spectral"]["convolution_bound"].as_float(), Some(2.0));
        assert_eq!(own["gaussian_process"]["features"]["length_scale"].as_float(), Some(8.0));
        assert_eq!(own["posterior"]["ridge"].as_float(), Some(0.5));
        assert_eq!(own["posterior"]["curvature"].as_str(), Some("gaussian"));
        assert_eq!(table["data"]["x"].as_integer(), Some(1));
    }

    #[test]
    fn what_is_set_already_is_tried_too() {
        assert_eq!(with(&[4.0, 1.0], 2.0), [1.0, 2.0, 4.0]);
        assert_eq!(with(&[4.0], 4.0), [4.0]);
    }
}
