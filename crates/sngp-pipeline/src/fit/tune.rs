//! The search for length scale and prior.

use sngp::data::Targets;
use sngp::metrics::{nll, rmse};
use sngp::predict::Predictive;
use sngp::{Error, Result};

use super::examples::Examples;
use super::finish::choosing_rows;
use super::network::{Fit, Settings, predict};
use super::options::Options;
use super::units::Units;

/// Multiples of the length scale and strengths of the prior that are tried.
const LENGTH_SCALES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
const STRENGTHS: [f64; 3] = [0.004, 0.02, 0.1];

/// One setting that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// What vectors were measured in.
    pub units: Option<Units>,
    /// The length scale.
    pub length_scale: f64,
    /// The strength of the prior.
    pub l2: f64,
    /// The loss on held-out rows: their negative log-likelihood, or the error of numbers.
    pub loss: f64,
}

/// Fits with several length scales, then several priors, and keeps what is best on the held-out
/// rows, with its loss there.
pub(super) fn tune(
    examples: &Examples,
    options: &Options<'_>,
    fit: impl Fn(&Settings) -> Result<Fit>,
) -> Result<(f64, Fit)> {
    let tried = |settings: &Settings| -> Result<(Trial, Fit)> {
        let fit = fit(settings)?;
        let length_scale = fit.model.config().gaussian_process.features.length_scale;
        let trial =
            Trial { units: None, length_scale, l2: settings.l2, loss: loss(&fit, examples)? };
        (options.tried)(&trial);
        Ok((trial, fit))
    };
    let first = Settings::of(options);
    let mut best = tried(&first)?;
    let usual = best.0.length_scale;
    // One after the other: the two hardly depend on each other, and a grid would take long.
    let scales = LENGTH_SCALES.iter().filter(|&&factor| factor != 1.0);
    let settings = scales.map(|factor| (Some(factor * usual), None));
    // Numbers have a prior of their own, in standard units.
    let priors = STRENGTHS.iter().filter(|&&l2| l2 != first.l2 && !options.regression());
    for (length_scale, l2) in settings.chain(priors.map(|&l2| (None, Some(l2)))) {
        sngp::train::check_interrupted(&options.interrupter)?;
        let length_scale = Some(length_scale.unwrap_or(best.0.length_scale));
        let next = tried(&Settings { length_scale, l2: l2.unwrap_or(best.0.l2), ..first })?;
        if next.0.loss < best.0.loss {
            best = next;
        }
    }
    Ok((best.0.loss, best.1))
}

fn loss(fit: &Fit, examples: &Examples) -> Result<f64> {
    let prediction = predict(fit, &examples.held_out)?;
    match (&examples.learning.held_out, &prediction.predictive) {
        (Targets::Classes { labels, .. }, _) => nll(prediction.probabilities()?, labels),
        (Targets::Values(values), Predictive::Normal { mean, .. }) => {
            let rows = choosing_rows(values.len());
            let mean: Vec<f64> = rows.iter().map(|&row| mean[row]).collect();
            let values: Vec<f64> = rows.iter().map(|&row| f64::from(values[row])).collect();
            rmse(&mean, &values)
        }
        _ => Err(Error::Data("a regression predicts numbers".to_string())),
    }
}
