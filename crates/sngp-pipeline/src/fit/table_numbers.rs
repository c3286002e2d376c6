//! Numbers from a table: the choice between a Gaussian process on its columns and one on a residual
//! network.
//!
//! A part of the training rows makes the choice, so that every held-out row is left to promise with.

use ndarray::Axis;
use sngp::data::Targets;
use sngp::method::Sngp;
use sngp::metrics::{gaussian_nll, rmse};
use sngp::predict::Predictive;
use sngp::{Error, Result};

use super::columns::Columns;
use super::examples::{Examples, TrainInputs};
use super::finish::{Promise, spread};
use super::labels::{Labels, Learning};
use super::network::{Fit, Settings, predict};
use super::options::Options;
use super::split::stratified;
use super::table_network::{Trained, backbone};
use crate::input::{Preparation, Prepared};

/// Fewer rows than this are not worth a choice.
pub(super) const FEWEST: usize = 100;
/// Held-out errors, in deviations of the numbers, that leave a network nothing to gain.
const ENOUGH: f64 = 0.02;
/// Multiples of the usual length scale that are tried on a network's hidden vectors.
const LENGTH_SCALES: [f64; 2] = [1.0, 4.0];

/// Whether the options leave the choice to us.
pub(super) fn is_free(options: &Options<'_>) -> bool {
    let asked = options.length_scale.is_some() || options.tune == Some(false);
    options.regression() && !asked && options.method == Sngp {}.into()
}

/// Whether numbers are fitted here.
pub(super) fn is_wanted(examples: &Examples, options: &Options<'_>) -> bool {
    let table = matches!(examples.preparation, Preparation::Table(_));
    table && examples.rows.len() >= FEWEST && is_free(options)
}

/// The better one of the two. The examples' numbers are in the unit of its fit afterwards.
pub(super) fn fit(
    examples: &mut Examples,
    options: &Options<'_>,
    remarks: &mut Vec<String>,
) -> Result<(Fit, Promise)> {
    let columns = Columns::learn(examples, options)?;
    let unit = columns.unit();
    let watched = examples.watched(options.seed)?;
    let loss = Loss::of(&columns.fit(&watched, options)?, unit, &watched)?;
    if loss.error >= ENOUGH {
        let (deep, trained, settings) = network(&watched, options)?;
        remarks.push(format!(
            "negative log-likelihood on watched rows: {:.4} by a Gaussian process on the columns, \
             {:.4} by one on a residual network; the better one is kept",
            loss.likelihood, deep.likelihood
        ));
        if deep.likelihood < loss.likelihood {
            // The network has not seen the watched rows; its output layer learns from them too.
            return Ok((trained.fit(examples, &settings, options)?, Promise::All));
        }
    }
    let fit = columns.fit(examples, options)?;
    let left_out = columns.left_out(&fit, examples)?;
    examples.learning = examples.learning.in_unit(unit)?;
    Ok((fit, Promise::AllAndLeftOut(left_out)))
}

/// A trained network and the settings that suit its hidden vectors.
fn network(watched: &Examples, options: &Options<'_>) -> Result<(Loss, Trained, Settings)> {
    let trained = backbone(watched, options)?;
    let mut best: Option<(Loss, Settings)> = None;
    let usual = trained.usual_length_scale();
    for factor in LENGTH_SCALES {
        let settings = Settings { length_scale: Some(factor * usual), ..Settings::of(options) };
        let loss = Loss::of(&trained.fit(watched, &settings, options)?, 1.0, watched)?;
        if best.as_ref().is_none_or(|(least, _)| loss.likelihood < least.likelihood) {
            best = Some((loss, settings));
        }
    }
    let nothing = || Error::Training("no length scale was tried".to_string());
    best.map(|(loss, settings)| (loss, trained, settings)).ok_or_else(nothing)
}

/// How a fit does on held-out rows.
struct Loss {
    /// Negative log-likelihood, of variances as large as the errors are.
    likelihood: f64,
    /// Root of the mean squared error.
    error: f64,
}

impl Loss {
    /// Of a fit that predicts in a unit of its own.
    fn of(fit: &Fit, unit: f64, examples: &Examples) -> Result<Self> {
        let prediction = predict(fit, &examples.held_out)?;
        let (Targets::Values(values), Predictive::Normal { mean, variance }) =
            (&examples.learning.held_out, &prediction.predictive)
        else {
            return Err(Error::Data("a regression predicts numbers".to_string()));
        };
        let values: Vec<f64> = values.iter().map(|value| f64::from(*value) / unit).collect();
        let errors = (0..values.len()).map(|row| (values[row] - mean[row]) / variance[row].sqrt());
        let spread = spread(&errors.collect::<Vec<_>>());
        let variance: Vec<f64> = variance.iter().map(|variance| spread * variance).collect();
        Ok(Self {
            likelihood: gaussian_nll(mean, &variance, &values)? + unit.ln(),
            error: rmse(mean, &values)? * unit,
        })
    }
}

impl Examples {
    /// The training rows alone, some of them held out.
    fn watched(&self, seed: u64) -> Result<Self> {
        let Targets::Values(values) = &self.learning.train else {
            return Err(Error::Data("classes are no numbers".to_string()));
        };
        let strata = Labels::Numbers(values.iter().map(|v| f64::from(*v)).collect()).strata();
        let split = stratified(&strata, seed.wrapping_add(1));
        let some = |rows: &[usize]| Targets::values(rows.iter().map(|&row| values[row]).collect());
        let learning = Learning {
            names: Vec::new(),
            train: some(&split.train)?,
            held_out: some(&split.held_out)?,
            units: self.learning.units,
        };
        let vectors = self.vectors()?;
        let part = |rows: &[usize]| vectors.select(Axis(0), rows);
        Ok(Self {
            preparation: self.preparation.clone(),
            train: TrainInputs::Vectors(part(&split.train)),
            held_out: Prepared::Vectors(part(&split.held_out)),
            learned_held_out: None,
            hashes: Vec::new(),
            learning,
            rows: split.train.iter().map(|&row| self.rows[row]).collect(),
        })
    }
}
