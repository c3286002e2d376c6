//! What was found, as an experiment file.

use sngp::method::Output;
use sngp::{Error, Result};

use super::{BoundOf, Found, Search, Trial};
use crate::bench::TuningConfig;

impl Found {
    /// An experiment with what was chosen in it, after an account of what was tried. Ridge and
    /// factor are chosen again for every network from the lists in `tuning`, where there are some.
    /// Comments of the experiment are lost.
    pub fn experiment(
        &self,
        text: &str,
        search: &Search,
        bound_of: BoundOf,
        tuning: &TuningConfig,
    ) -> Result<String> {
        let invalid = |error: &dyn std::fmt::Display| Error::Data(format!("experiment: {error}"));
        let mut experiment: toml::Table = text.parse().map_err(|error| invalid(&error))?;
        let Trial { choice, ridge, factor, .. } = self.chosen;
        let recipe = search.method.recipe();
        let own = |path: &str| format!("methods.{}.{path}", search.method);
        let mut values: Vec<(String, toml::Value)> = vec![
            ("tuning.ridges".to_string(), tuning.ridges.clone().into()),
            ("tuning.factors".to_string(), tuning.factors.clone().into()),
        ];
        if recipe.spectral {
            values.push((own(&format!("spectral.{}", bound_of.name())), choice.bound.into()));
        }
        if recipe.output == Output::GaussianProcess {
            let scale = own("gaussian_process.features.length_scale");
            values.push((scale, choice.length_scale.into()));
            if !tuning.ridges.is_empty() {
                values.push((own("posterior.ridge"), ridge.into()));
            }
            if !tuning.factors.is_empty() {
                values.push((own("integration.kind"), "mean_field".into()));
                values.push((own("integration.factor"), factor.into()));
            }
        }
        for (path, value) in values {
            let keys: Vec<&str> = path.split('.').collect();
            let blocked = || Error::Data(format!("experiment: {path} is in no table"));
            set(&mut experiment, &keys, value).ok_or_else(blocked)?;
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
    use super::super::Choice;
    use super::*;

    #[test]
    fn a_value_is_set_where_it_belongs() {
        let choice = Choice { bound: 2.0, length_scale: 8.0 };
        let trial = Trial { choice, ridge: 0.5, factor: 1.5, accuracy: 0.9, nll: 0.3 };
        let found = Found { trials: vec![trial], chosen: trial };
        let search = Search {
            method: "sngp".parse().unwrap(),
            seed: 0,
            bounds: vec![2.0],
            length_scales: Vec::new(),
            tolerance: 0.005,
        };
        let tuning = TuningConfig { ridges: vec![0.5], factors: vec![1.5, 2.5], abstain: 0.05 };
        let text = "[data]\nx = 1\n[methods.sngp.posterior]\nridge = 3.0\ncurvature = 'gaussian'\n";
        let tuned = found.experiment(text, &search, BoundOf::Convolutions, &tuning).unwrap();
        assert!(tuned.starts_with("# sngp"), "{tuned}");
        let table: toml::Table = tuned.parse().unwrap();
        let own = &table["methods"]["sngp"];
        assert_eq!(own["spectral"]["convolution_bound"].as_float(), Some(2.0));
        assert_eq!(own["gaussian_process"]["features"]["length_scale"].as_float(), Some(8.0));
        assert_eq!(own["posterior"]["ridge"].as_float(), Some(0.5));
        assert_eq!(own["posterior"]["curvature"].as_str(), Some("gaussian"));
        assert_eq!(own["integration"]["factor"].as_float(), Some(1.5));
        assert_eq!(table["tuning"]["factors"].as_array().map(Vec::len), Some(2));
        assert_eq!(table["data"]["x"].as_integer(), Some(1));
    }
}
