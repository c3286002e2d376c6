//! The search for length scale and prior.

use sngp::{Error, Result};

use super::dataset::Dataset;
use super::train::{TrainOptions, Trained, train};

/// Multiples of the length scale and strengths of the prior that are tried.
const LENGTH_SCALES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
const STRENGTHS: [f64; 3] = [0.004, 0.02, 0.1];

/// One setting that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The length scale.
    pub length_scale: f64,
    /// The strength of the prior.
    pub l2: f64,
    /// The loss on held-out rows: their negative log-likelihood, or the error of numbers.
    pub loss: f64,
}

/// Trains with several length scales, then several priors, and keeps what is best on the held-out
/// rows. `told` hears of every trial.
pub fn tune(
    data: &Dataset,
    validation: Option<&Dataset>,
    options: &TrainOptions<'_>,
    mut told: impl FnMut(&Trial),
) -> Result<Trained> {
    let first = train(data, validation, options)?;
    let usual = first.model.any().config().gaussian_process.features.length_scale;
    let mut best = (loss(&first)?, usual, options.l2, first);
    told(&Trial { length_scale: usual, l2: options.l2, loss: best.0 });
    // One after the other: the two hardly depend on each other, and a grid would take long.
    let scales = LENGTH_SCALES.iter().filter(|&&factor| factor != 1.0);
    let settings = scales.map(|factor| (Some(factor * usual), None));
    // Numbers have a prior of their own, in standard units.
    let priors = STRENGTHS.iter().filter(|&&l2| l2 != options.l2 && !options.regression);
    for (length_scale, l2) in settings.chain(priors.map(|&l2| (None, Some(l2)))) {
        let (length_scale, l2) = (length_scale.unwrap_or(best.1), l2.unwrap_or(best.2));
        let trial = TrainOptions { length_scale: Some(length_scale), l2, ..options.clone() };
        let trained = train(data, validation, &trial)?;
        let loss = loss(&trained)?;
        told(&Trial { length_scale, l2, loss });
        if loss < best.0 {
            best = (loss, length_scale, l2, trained);
        }
    }
    Ok(best.3)
}

fn loss(trained: &Trained) -> Result<f64> {
    let metrics = &trained.model.card.held_out.metrics;
    let found = metrics.iter().find(|(name, _)| name == "nll" || name == "rmse");
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| Error::Data("the model was not measured on held-out rows".to_string()))
}
