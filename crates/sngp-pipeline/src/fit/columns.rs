//! The Gaussian process on a table's columns, with a length scale for each of them.

use std::time::Instant;

use burn::module::Module;
use ndarray::{Array1, Array2, Axis};
use rand::seq::index::sample;
use sngp::backbone::{ResFfn, ResFfnConfig, Shipped, ShippedConfig};
use sngp::data::Targets;
use sngp::exact_gp::Relevance;
use sngp::likelihood::{Gaussian, Likelihood, Noise};
use sngp::model::{Estimator, fit_output};
use sngp::nn::linear;
use sngp::predict::Predictive;
use sngp::seed::{Purpose, stream};
use sngp::{Error, Result};

use super::examples::Examples;
use super::network::{Fit, Settings, config, fit_options, predict};
use super::options::Options;
use super::table_network::labelled;
use crate::input::Prepared;

/// Rows that tell the length scales: the search takes a second or two with so many.
const ROWS: usize = 500;
/// Tables of more rows than so many times the features get so many times the features: then rows are
/// enough to tell them apart, and the kernel is met more closely.
const MORE_FEATURES: usize = 2;
/// Rows whose errors are computed as if they had been left out.
const LEFT_OUT: usize = 2000;
/// Training rows for every number that was chosen on them, below which such errors flatter.
const ROWS_EACH: usize = 10;
/// The least share of a row's own error that its leverage may leave: below it is rounding.
const LEAST_SHARE: f64 = 1e-3;

/// What is known of the columns before the fit.
pub(super) struct Columns {
    relevance: Relevance,
    seconds: f64,
}

impl Columns {
    /// Finds the length scales that make the training numbers most probable.
    pub fn learn(examples: &Examples, options: &Options<'_>) -> Result<Self> {
        let started = Instant::now();
        let vectors = examples.vectors()?;
        let values = numbers(&examples.learning.train)?;
        let count = ROWS.min(values.len());
        let mut rng = stream(options.seed, Purpose::Shuffle, u64::MAX - 1);
        let mut rows = sample(&mut rng, values.len(), count).into_vec();
        rows.sort_unstable();
        let inputs = vectors.select(Axis(0), &rows).mapv(f64::from);
        let targets: Vec<f64> = rows.iter().map(|&row| f64::from(values[row])).collect();
        let relevance = Relevance::learn(inputs.view(), &targets, &options.interrupter)?;
        Ok(Self { relevance, seconds: started.elapsed().as_secs_f64() })
    }

    /// The unit in which the function has the variance 1 that the output layer takes for granted,
    /// in standard deviations of the numbers.
    pub fn unit(&self) -> f64 {
        self.relevance.signal.sqrt()
    }

    /// The variance of the noise in that unit.
    fn noise(&self) -> f64 {
        self.relevance.noise / self.relevance.signal
    }

    /// The fit, which predicts in that unit. The length scales are those of a lifting
    /// layer that no block follows.
    pub fn fit(&self, examples: &Examples, options: &Options<'_>) -> Result<Fit> {
        let started = Instant::now();
        let scales = &self.relevance.length_scales;
        let width = scales.len();
        let diagonal: Array1<f32> = scales.iter().map(|scale| (1.0 / scale) as f32).collect();
        let diagonal = Array2::from_diag(&diagonal);
        let lift = linear(diagonal.view(), Some(&vec![0.0; width]), &options.device).no_grad();
        let network = Shipped::from(ResFfn::from_layers(lift, Vec::new(), 0.0));
        let shape = ResFfnConfig { inputs: width, width, depth: 0, dropout: 0.0 };
        let mut config = config(&Settings::of(options), options, 1.0);
        config.gaussian_process.features.linear = self.relevance.linear.sqrt();
        if examples.rows.len() > MORE_FEATURES * options.features {
            config.gaussian_process.features.count = MORE_FEATURES * options.features;
        }
        config.likelihood = Likelihood::Gaussian(Gaussian { noise: Noise::Given(self.noise()) });
        let estimator = Estimator::new(config, ShippedConfig::from(shape)).with_pretrained(network);
        let targets = examples.learning.in_unit(self.unit())?.train;
        let data = labelled(examples.vectors()?, targets)?;
        let (model, _) = fit_output(&estimator, &data, fit_options(options, &examples.learning))?;
        let words = "Gaussian process on the columns, with a length scale for each by marginal \
                     likelihood";
        let seconds = self.seconds + started.elapsed().as_secs_f64();
        Ok(Fit { model, tokenizer: None, words: words.to_string(), seconds })
    }

    /// Errors of training rows in predicted deviations, each as if its row had been left out of the
    /// fit: `r_i / sqrt(n (1 - h_i))` with the noise `n` and the leverage `h_i = v_i / n`. None where
    /// there are so few rows that the length scales know them, and none of rows that the fit meets so
    /// closely that only rounding is left of their errors.
    pub fn left_out(&self, fit: &Fit, examples: &Examples) -> Result<Vec<f64>> {
        let vectors = examples.vectors()?;
        let chosen = self.relevance.length_scales.len() + 3;
        if vectors.nrows() < ROWS_EACH * chosen {
            return Ok(Vec::new());
        }
        let step = vectors.nrows().div_ceil(LEFT_OUT).max(1);
        let rows: Vec<usize> = (0..vectors.nrows()).step_by(step).collect();
        let values = numbers(&examples.learning.train)?;
        let prediction = predict(fit, &Prepared::Vectors(vectors.select(Axis(0), &rows)))?;
        let Predictive::Normal { mean, variance } = &prediction.predictive else {
            return Err(Error::Data("a regression predicts numbers".to_string()));
        };
        let (unit, noise) = (self.unit(), self.noise());
        let errors = rows.iter().enumerate().filter_map(|(i, &row)| {
            let share = 1.0 - (variance[i] - noise) / noise;
            let error = f64::from(values[row]) / unit - mean[i];
            (share >= LEAST_SHARE).then(|| error / (noise * share).sqrt())
        });
        Ok(errors.collect())
    }
}

fn numbers(targets: &Targets) -> Result<&[f32]> {
    match targets {
        Targets::Values(values) => Ok(values),
        Targets::Classes { .. } => Err(Error::Data("classes are no numbers".to_string())),
    }
}
