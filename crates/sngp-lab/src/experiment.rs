//! Experiments as TOML files.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sngp::Error;
use sngp::backbone::ResFfnConfig;
use sngp::method::Method;
use sngp::model::ModelConfig;

use crate::bench::TuningConfig;

/// The two-dimensional benchmark's file, built into the binary so that it runs from anywhere.
pub const PLANE: &str = include_str!("../experiments/2d.toml");

/// An experiment on the plane: what every method shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaneExperiment {
    /// The backbone of every network.
    pub backbone: ResFfnConfig,
    /// The options of every part; the method is set by the benchmark.
    pub model: ModelConfig,
    /// What single methods have otherwise: a table of the shape of `model` for each of them.
    #[serde(default)]
    pub methods: toml::Table,
}

impl PlaneExperiment {
    /// Parses an experiment.
    ///
    /// ```
    /// use sngp_lab::experiment::{PLANE, PlaneExperiment};
    ///
    /// assert!(PlaneExperiment::parse(PLANE)?.model.training.epochs > 0);
    /// assert!(PlaneExperiment::parse("epochs = 3").is_err());
    /// # Ok::<(), sngp::Error>(())
    /// ```
    ///
    /// Unknown names are refused wherever they stand.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let experiment: Self = read(text)?;
        check_methods(&experiment.model, &experiment.methods)?;
        Ok(experiment)
    }

    /// The configuration of a method: what all share, and over it what is its own.
    pub fn model_for(&self, method: &Method) -> Result<ModelConfig, Error> {
        overlaid(&self.model, &self.methods, method)
    }
}

/// An experiment's text as what it says.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| Error::Data(format!("experiment: {error}")))
}

/// Refuses what the networks of a benchmark cannot have.
pub(crate) fn check_networks(
    shared: &ModelConfig,
    own: &toml::Table,
    tuning: &TuningConfig,
) -> Result<(), Error> {
    check_methods(shared, own)?;
    check_shared(own)?;
    tuning.check()
}

/// Refuses tables of methods that are unknown or hold what no model has.
fn check_methods(shared: &ModelConfig, own: &toml::Table) -> Result<(), Error> {
    own.keys().try_for_each(|name| overlaid(shared, own, &name.parse()?).map(drop))
}

/// Methods of several networks or passes have those of single ones: options of a training of
/// their own would have no effect.
fn check_shared(methods: &toml::Table) -> Result<(), Error> {
    for (name, own) in methods {
        let recipe = name.parse::<Method>()?.recipe();
        if (recipe.members, recipe.passes) == (1, 1) {
            continue;
        }
        let keys = own.as_table().into_iter().flat_map(|table| table.keys());
        if let Some(key) = keys.into_iter().find(|key| !["method", "score"].contains(&key.as_str()))
        {
            let message = format!(
                "experiment: `{key}` of method {name} has no effect, its networks are those of \
                 a method with one network and one pass; set it there"
            );
            return Err(Error::Data(message));
        }
    }
    Ok(())
}

/// The configuration of a method: what all share, and over it the method's own table.
pub(crate) fn overlaid(
    shared: &ModelConfig,
    own: &toml::Table,
    method: &Method,
) -> Result<ModelConfig, Error> {
    let invalid = |error: &dyn std::fmt::Display| {
        Error::Data(format!("experiment, method {method}: {error}"))
    };
    let shared = ModelConfig { method: method.clone(), ..shared.clone() };
    let mut config = toml::Table::try_from(&shared).map_err(|error| invalid(&error))?;
    if let Some(own) = own.get(method.name()).and_then(toml::Value::as_table) {
        overlay(&mut config, own);
    }
    config.try_into().map_err(|error| invalid(&error))
}

/// Replaces values by those of `top`, table by table.
fn overlay(base: &mut toml::Table, top: &toml::Table) {
    for (key, value) in top {
        match (base.get_mut(key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => overlay(below, above),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_methods_own_lies_over_what_all_share() {
        let text = "[backbone]\n[model.training]\nepochs = 7\nbatch_size = 9\n\
                    [methods.deep_ensemble.method]\nmembers = 3\n\
                    [methods.deep_ensemble.training]\nepochs = 2\n";
        let experiment = PlaneExperiment::parse(text).unwrap();
        let own = experiment.model_for(&"deep_ensemble".parse().unwrap()).unwrap();
        assert_eq!((own.training.epochs, own.training.batch_size), (2, 9));
        assert_eq!(own.method.recipe().members, 3);
        let other = experiment.model_for(&"sngp".parse().unwrap()).unwrap();
        assert_eq!(other.training.epochs, 7);
    }

    #[test]
    fn a_misspelt_option_of_a_method_is_refused() {
        for text in
            ["[methods.sngp.training]\nepoch = 2\n", "[methods.sgnp.training]\nepochs = 2\n"]
        {
            let text = format!("[backbone]\n[model]\n{text}");
            assert!(PlaneExperiment::parse(&text).is_err(), "{text}");
        }
    }
}
