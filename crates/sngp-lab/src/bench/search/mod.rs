//! The search for a norm bound and a length scale on held-out data.

mod experiment;

use serde::Serialize;
use sngp::method::{Method, Output};
use sngp::metrics::{accuracy, nll};
use sngp::model::ModelConfig;
use sngp::{Error, Result};

use super::networks::{Networks, RunOptions};
use super::study::Study;
use super::tuning::class_labels;

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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The norm bound of the layers the network has.
    pub bound: f64,
    /// The length scale.
    pub length_scale: f64,
}

/// What a network with some settings is worth on held-out data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    pub fn run(&self, study: &dyn Study, name: &str, options: &RunOptions<'_>) -> Result<Found> {
        self.check()?;
        let recipe = self.method.recipe();
        let config = study.model_for(&self.method)?;
        let start = Choice {
            bound: study.bound().get(&config),
            length_scale: config.gaussian_process.features.length_scale,
        };
        let mut trials = Trials { search: self, study, name, options, done: Vec::new() };
        let bounds = with(&self.bounds, start.bound);
        let tried = bounds.into_iter().map(|bound| trials.of(Choice { bound, ..start }));
        let mut chosen = smallest_bound(&tried.collect::<Result<Vec<_>>>()?, self.tolerance)?;
        if recipe.output == Output::GaussianProcess {
            let scales = with(&self.length_scales, start.length_scale);
            let tried = scales
                .into_iter()
                .map(|length_scale| trials.of(Choice { length_scale, ..chosen.choice }));
            chosen = least_nll(&tried.collect::<Result<Vec<_>>>()?)?;
        }
        Ok(Found { trials: trials.done, chosen })
    }

    /// Refuses what the method has no use for, and a search of nothing.
    fn check(&self) -> Result<()> {
        let recipe = self.method.recipe();
        let refused = |message: &str| Err(Error::Unsupported(format!("{} {message}", self.method)));
        if (recipe.members, recipe.passes) != (1, 1) {
            return refused("is made of other methods' networks; tune the method that trains them");
        }
        if !recipe.spectral && !self.bounds.is_empty() {
            return refused("has no norm bound");
        }
        if recipe.output != Output::GaussianProcess && !self.length_scales.is_empty() {
            return refused("has no length scale");
        }
        if self.bounds.is_empty() && self.length_scales.is_empty() {
            return refused("is given nothing to try; name bounds or length scales");
        }
        Ok(())
    }
}

/// The one with the smallest bound among those that keep the accuracy of the best.
fn smallest_bound(trials: &[Trial], tolerance: f64) -> Result<Trial> {
    let best = trials.iter().map(|trial| trial.accuracy).fold(0.0, f64::max);
    let keeping = trials.iter().filter(|trial| trial.accuracy >= best - tolerance);
    least(keeping, |trial| trial.choice.bound)
}

/// The one with the least negative log-likelihood.
fn least_nll(trials: &[Trial]) -> Result<Trial> {
    least(trials.iter(), |trial| trial.nll)
}

fn least<'a>(
    trials: impl Iterator<Item = &'a Trial>,
    value: impl Fn(&Trial) -> f64,
) -> Result<Trial> {
    let least = trials.min_by(|a, b| value(a).total_cmp(&value(b))).copied();
    least.ok_or_else(|| Error::Data("there is nothing to choose from".to_string()))
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

struct Trials<'a> {
    search: &'a Search,
    study: &'a dyn Study,
    name: &'a str,
    options: &'a RunOptions<'a>,
    done: Vec<Trial>,
}

impl Trials<'_> {
    /// What settings are worth; nothing is trained twice.
    fn of(&mut self, choice: Choice) -> Result<Trial> {
        if let Some(trial) = self.done.iter().find(|trial| trial.choice == choice) {
            return Ok(*trial);
        }
        let Choice { bound, length_scale } = choice;
        let place = format!("bound-{bound}-length-{length_scale}");
        let study = self.study;
        let alter = |config: &mut ModelConfig| {
            study.bound().set(config, bound);
            config.gaussian_process.features.length_scale = length_scale;
        };
        let networks = Networks {
            study,
            options: RunOptions {
                runs: &self.options.runs.join(&place),
                interrupter: self.options.interrupter.clone(),
                ..*self.options
            },
            name: &format!("{} {place}", self.name),
            alter: Some(&alter),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(bound: f64, accuracy: f64, nll: f64) -> Trial {
        let choice = Choice { bound, length_scale: 1.0 };
        Trial { choice, ridge: 1.0, factor: 1.0, accuracy, nll }
    }

    #[test]
    fn the_smallest_bound_that_keeps_the_accuracy_is_taken() {
        let trials = [trial(1.0, 0.90, 0.1), trial(6.0, 0.951, 0.3), trial(3.0, 0.949, 0.4)];
        let bound = |tolerance| smallest_bound(&trials, tolerance).unwrap().choice.bound;
        assert_eq!([bound(0.0), bound(0.005), bound(0.1)], [6.0, 3.0, 1.0]);
        assert!(smallest_bound(&[], 0.1).is_err());
    }

    #[test]
    fn then_the_likelihood_decides() {
        let trials = [trial(1.0, 0.9, 0.3), trial(2.0, 0.8, 0.2), trial(3.0, 0.9, 0.2)];
        assert_eq!(least_nll(&trials).unwrap().choice.bound, 2.0, "the first of equals");
    }

    #[test]
    fn a_search_of_nothing_is_refused() {
        let refused = |method: &str, bounds: &[f64], length_scales: &[f64]| {
            let search = Search {
                method: method.parse().unwrap(),
                seed: 0,
                bounds: bounds.to_vec(),
                length_scales: length_scales.to_vec(),
                tolerance: 0.0,
            };
            search.check().is_err()
        };
        assert!(refused("sngp", &[], &[]) && refused("deterministic", &[1.0], &[]));
        assert!(refused("dnn_gp", &[1.0], &[2.0]) && refused("dnn_sn", &[1.0], &[2.0]));
        assert!(refused("deep_ensemble", &[1.0], &[]));
        assert!(!refused("sngp", &[1.0], &[]) && !refused("dnn_gp", &[], &[1.0]));
    }

    #[test]
    fn what_is_set_already_is_tried_too() {
        assert_eq!(with(&[4.0, 1.0], 2.0), [1.0, 2.0, 4.0]);
        assert_eq!(with(&[4.0], 4.0), [4.0]);
    }
}
