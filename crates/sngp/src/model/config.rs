//! Everything about a model but its backbone.

use serde::{Deserialize, Serialize};

use crate::exact_gp::ExactGpConfig;
use crate::likelihood::Likelihood;
use crate::method::{Method, Output};
use crate::nn::{GaussianProcessConfig, HeadConfig, RbfCentroidsConfig};
use crate::posterior::PosteriorConfig;
use crate::predict::Integration;
use crate::score::{Score, Variance};
use crate::spectral::SpectralConfig;
use crate::train::TrainingConfig;
use crate::{Error, Result};

/// The configuration of a model: method, likelihood and the options of every part. Parts the
/// method does not use are ignored, so that methods can be compared under one configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The method.
    pub method: Method,
    /// The likelihood.
    pub likelihood: Likelihood,
    /// The Gaussian-process head.
    pub gaussian_process: GaussianProcessConfig,
    /// DUQ's head.
    pub rbf_centroids: RbfCentroidsConfig,
    /// The exact Gaussian process.
    pub exact_gp: ExactGpConfig,
    /// Spectral normalization.
    pub spectral: SpectralConfig,
    /// The Laplace posterior.
    pub posterior: PosteriorConfig,
    /// How the expectation over the posterior is taken.
    pub integration: Integration,
    /// The score to be uncertain by, where it is not the [default one](Self::score).
    pub score: Option<Score>,
    /// Training.
    pub training: TrainingConfig,
    /// Determines everything random.
    pub seed: u64,
}

impl ModelConfig {
    /// The default configuration of a method.
    pub fn new(method: impl Into<Method>) -> Self {
        Self { method: method.into(), ..Default::default() }
    }

    /// The score a model of this configuration is uncertain by: its own one if it has one, else the
    /// method's, or the variance where there are no classes to be uncertain between.
    pub fn score(&self) -> Score {
        let default = || match self.likelihood.classes(1) {
            0 => Variance {}.into(),
            _ => self.method.recipe().score,
        };
        self.score.clone().unwrap_or_else(default)
    }

    /// The head the method asks for; none for the exact Gaussian process.
    pub(crate) fn head(&self) -> Option<HeadConfig> {
        match self.method.recipe().output {
            Output::Dense => Some(HeadConfig::Dense),
            Output::GaussianProcess => {
                Some(HeadConfig::GaussianProcess(self.gaussian_process.clone()))
            }
            Output::RbfCentroids => Some(HeadConfig::RbfCentroids(self.rbf_centroids.clone())),
            Output::ExactGaussianProcess => None,
        }
    }

    /// The configuration with everything at its default that the method's training does not use:
    /// two that agree in this train the same network.
    pub(crate) fn used(&self) -> Self {
        let recipe = self.method.recipe();
        let mut used = Self { score: None, integration: Integration::default(), ..self.clone() };
        used.posterior.ridge = PosteriorConfig::default().ridge;
        if !recipe.spectral {
            used.spectral = SpectralConfig::default();
        }
        if recipe.output != Output::GaussianProcess {
            used.gaussian_process = GaussianProcessConfig::default();
            used.posterior = PosteriorConfig::default();
        }
        if recipe.output != Output::RbfCentroids {
            used.rbf_centroids = RbfCentroidsConfig::default();
        }
        if recipe.output != Output::ExactGaussianProcess {
            used.exact_gp = ExactGpConfig::default();
        }
        used
    }

    /// Refuses options outside their range or at odds with each other.
    pub fn check(&self, has_validation: bool) -> Result<()> {
        let recipe = self.method.recipe();
        for (what, value) in [("members", recipe.members), ("passes", recipe.passes)] {
            if value == 0 {
                return Err(Error::config(what, value, "it must be at least 1"));
            }
        }
        self.posterior.check()?;
        self.integration.check()?;
        let needs_classes =
            matches!(recipe.output, Output::RbfCentroids | Output::ExactGaussianProcess);
        if needs_classes && !matches!(self.likelihood, Likelihood::Softmax(_)) {
            return Err(Error::Unsupported(format!(
                "{} classifies with softmax only; the {} likelihood needs a dense or \
                 Gaussian-process output",
                self.method, self.likelihood
            )));
        }
        if recipe.output == Output::ExactGaussianProcess {
            return Ok(());
        }
        self.training.check(self.posterior.accumulation, has_validation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::Curvature;
    use crate::score::DempsterShafer;

    #[test]
    fn the_default_score_weighs_classes_where_there_are_some() {
        for method in Method::all() {
            let process = method.recipe().output == Output::GaussianProcess;
            let classes = ModelConfig::new(method.clone());
            let evidence = classes.score() == Score::from(DempsterShafer {});
            assert_eq!(evidence, process, "{method}");
            for likelihood in Likelihood::all().into_iter().filter(|l| l.classes(1) == 0) {
                let numbers = ModelConfig { likelihood, ..classes.clone() };
                assert_eq!(numbers.score(), Score::from(Variance {}), "{method}");
            }
        }
    }

    type Change = (&'static str, fn(&mut ModelConfig), fn(&Method) -> bool);

    #[test]
    fn what_a_method_uses_is_what_tells_its_networks_apart() {
        let changes: [Change; 9] = [
            ("bound", |c| c.spectral.convolution_bound = 3.5, |m| m.recipe().spectral),
            (
                "length scale",
                |c| c.gaussian_process.features.length_scale = 3.5,
                |m| m.recipe().output == Output::GaussianProcess,
            ),
            (
                "curvature",
                |c| c.posterior.curvature = Some(Curvature::SharedMax),
                |m| m.recipe().output == Output::GaussianProcess,
            ),
            ("ridge", |c| c.posterior.ridge = 3.5, |_| false),
            (
                "sigma",
                |c| c.rbf_centroids.sigma = 3.5,
                |m| m.recipe().output == Output::RbfCentroids,
            ),
            (
                "exact length scale",
                |c| c.exact_gp.length_scale = 3.5,
                |m| m.recipe().output == Output::ExactGaussianProcess,
            ),
            ("score", |c| c.score = Some(Variance {}.into()), |_| false),
            ("integration", |c| c.integration = Integration::MeanField { factor: 3.5 }, |_| false),
            ("learning rate", |c| c.training.learning_rate = 3.5, |_| true),
        ];
        for method in Method::all() {
            let config = ModelConfig::new(method.clone());
            assert_eq!(config.used(), config, "{method}");
            for (what, change, matters) in &changes {
                let mut changed = config.clone();
                change(&mut changed);
                assert_eq!(changed.used() != config.used(), matters(&method), "{method}: {what}");
            }
        }
    }
}
