//! The search for units, length scale and prior of vectors.
//!
//! Rows that choose cannot promise. The search has an inner split of the training rows to itself;
//! the rows that are held out for thresholds are not looked at.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ndarray::{Array2, Axis, concatenate};
use sngp::backbone::Shipped;
use sngp::data::Targets;
use sngp::method::Output;
use sngp::model::{Estimator, output_path};
use sngp::nn::Head;
use sngp::predict::{Integration, Prediction, Predictive};
use sngp::{Error, Result};

use super::calibration::best_calibration;
use super::examples::{Examples, TrainInputs};
use super::inner::{Inner, Looked};
use super::network::{Settings, fit_options, is_direct};
use super::options::Options;
use super::tune::Trial;
use super::units::Units;
use crate::input::Preparation;

/// Fewer rows than this choose nothing.
const FEWEST: usize = 20;
/// Random features of the search: one a row, within these bounds; the fit may have more.
const FEATURES: [usize; 2] = [128, 1024];
/// Strengths of the prior, from strong to weak, each the start of the next; those around the best
/// one are tried in the end.
const STRENGTHS: [f64; 4] = [1.0, 0.1, 0.01, 0.001];
const AROUND: [f64; 2] = [3.0, 0.3];
/// The step between length scales, and the most steps away from the usual one. At the longest
/// scale the Gaussian process is a linear model.
const STEP: f64 = 4.0;
const STEPS: i32 = 3;

/// What was found.
pub(super) struct Found {
    pub settings: Settings,
    /// Close to the solution, where the fit has the features of the search.
    pub start: Option<Head>,
    pub seconds: f64,
}

/// What is best for these examples, where there is something to choose; else nothing.
pub(super) fn search(
    examples: &Examples,
    options: &Options<'_>,
    remarks: &mut Vec<String>,
) -> Result<Option<Found>> {
    let recipe = options.method.recipe();
    let head = recipe.output == Output::GaussianProcess && is_direct(options, false);
    let frozen =
        matches!(examples.preparation, Preparation::Sentences { .. }) && !options.fine_tune;
    let settled = matches!(examples.train, TrainInputs::Logits { .. });
    let embedded = !settled && (examples.preparation.gives_embeddings() || frozen);
    let open = options.length_scale.is_none() || options.l2.is_none();
    let wanted = options.tune != Some(false) && options.budget > Duration::ZERO;
    let Targets::Classes { labels, classes } = &examples.learning.train else { return Ok(None) };
    if !(head && embedded && open && wanted) || labels.len() < FEWEST {
        return Ok(None);
    }
    let started = Instant::now();
    let rows = Looked::at(examples, labels, *classes, options.seed);
    let splits = rows.splits(*classes, options.seed)?;
    if splits.is_empty() {
        return Ok(None);
    }
    let judges = splits.iter().map(|split| split.labels.len()).sum::<usize>();
    let mut search = Search { examples, options, splits, started, tried: 0, best: None };
    search.run(&rows.units(examples, options))?;
    let seconds = started.elapsed().as_secs_f64();
    let (tried, features) = (search.tried, search.features());
    let Some(Best { trial, start }) = search.best else { return Ok(None) };
    let settings = Settings {
        units: trial.units.unwrap_or_default(),
        length_scale: Some(trial.length_scale),
        l2: trial.l2,
    };
    remarks.push(format!(
        "chosen by {judges} of {} training rows in {seconds:.1} s, {tried} settings tried: units \
         {}, length scale {:.4}, l2 {}",
        rows.vectors.nrows(),
        settings.units.name(),
        trial.length_scale,
        trial.l2
    ));
    // A layer of fewer features is no start for one of more.
    let start = start.filter(|_| options.features == features);
    Ok(Some(Found { settings, start, seconds }))
}

struct Search<'a> {
    examples: &'a Examples,
    options: &'a Options<'a>,
    splits: Vec<Inner>,
    started: Instant,
    tried: usize,
    best: Option<Best>,
}

struct Best {
    trial: Trial,
    start: Option<Head>,
}

impl Search<'_> {
    /// Units first, then length scales for as long as they get better, every one of them with all
    /// strengths of the prior, which cost little more than one; then the strengths around the best.
    fn run(&mut self, units: &[Units]) -> Result<()> {
        let given = self.options.l2.map(|l2| [l2]);
        let strengths = given.as_ref().map_or(&STRENGTHS[..], |l2| &l2[..]);
        let mut usual = None;
        for &units in units {
            if self.attempt(units, self.options.length_scale, strengths)? {
                usual = self.best.as_ref().map(|best| (units, best.trial.length_scale));
            }
        }
        if let (Some((units, usual)), None) = (usual, self.options.length_scale) {
            for step in [STEP, 1.0 / STEP] {
                let improved = (1..=STEPS)
                    .map(|steps| self.attempt(units, Some(usual * step.powi(steps)), strengths))
                    .take_while(|better| !matches!(better, Ok(false)))
                    .collect::<Result<Vec<_>>>()?;
                if !improved.is_empty() {
                    break;
                }
            }
        }
        let best = self.best.as_ref().map(|best| best.trial);
        if let (Some(trial), None) = (best, self.options.l2) {
            // Rounded, so that it reads as it is.
            let around = AROUND.map(|factor| (factor * trial.l2 * 1e6).round() / 1e6);
            self.attempt(trial.units.unwrap_or_default(), Some(trial.length_scale), &around)?;
        }
        Ok(())
    }

    /// So few rows do not need all the features that the fit has.
    fn features(&self) -> usize {
        let [least, most] = FEATURES;
        let rows = self.splits.first().map_or(0, |split| split.train.rows());
        self.options.features.min(rows.clamp(least, most))
    }

    /// Whether these are better than all before.
    fn attempt(
        &mut self,
        units: Units,
        length_scale: Option<f64>,
        strengths: &[f64],
    ) -> Result<bool> {
        if self.best.is_some() && self.started.elapsed() >= self.options.budget {
            return Ok(false);
        }
        sngp::train::check_interrupted(&self.options.interrupter)?;
        let settings = Settings { units, length_scale, ..Settings::of(self.options) };
        let features = self.features();
        let estimator = self.examples.estimator(&settings, features, self.options)?;
        let length_scale = estimator.config.gaussian_process.features.length_scale;
        let mut better = false;
        for (l2, loss, start) in self.path(&estimator, strengths)? {
            self.tried += 1;
            let trial = Trial { units: Some(units), length_scale, l2, loss };
            (self.options.tried)(&trial);
            if self.best.as_ref().is_none_or(|best| loss < best.trial.loss) {
                self.best = Some(Best { trial, start });
                better = true;
            }
        }
        Ok(better)
    }

    /// Strengths of the prior with their losses over all splits; of one split, until they get worse.
    fn path(
        &self,
        estimator: &Estimator<Shipped>,
        strengths: &[f64],
    ) -> Result<Vec<(f64, f64, Option<Head>)>> {
        let mut logits: Vec<Vec<Array2<f64>>> = Vec::new();
        let mut heads = Vec::new();
        let one = self.splits.len() == 1;
        for (index, split) in self.splits.iter().enumerate() {
            let mut losses: Vec<f64> = Vec::new();
            let mut failed = None;
            let options = fit_options(self.options, &self.examples.learning);
            output_path(
                estimator,
                &split.train,
                &*split.held_out,
                strengths,
                options,
                &mut |step| {
                    match loss(step.logits.clone(), &split.labels) {
                        Ok(loss) => losses.push(loss),
                        Err(error) => {
                            failed = Some(error);
                            return ControlFlow::Break(());
                        }
                    }
                    if index == 0 {
                        logits.push(Vec::new());
                        heads.push(step.head);
                    }
                    if let Some(place) = logits.get_mut(losses.len() - 1) {
                        place.push(step.logits);
                    }
                    // Of several small splits, one alone says little about where to end.
                    let worse = losses.windows(2).next_back().is_some_and(|pair| pair[1] > pair[0]);
                    if worse && one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                },
            )?;
            if let Some(error) = failed {
                return Err(error);
            }
        }
        let labels: Vec<usize> =
            self.splits.iter().flat_map(|split| split.labels.iter().copied()).collect();
        let all = strengths.iter().zip(logits).zip(heads);
        all.filter(|((_, logits), _)| logits.len() == self.splits.len())
            .map(|((&l2, logits), head)| {
                let views: Vec<_> = logits.iter().map(|logits| logits.view()).collect();
                let logits =
                    concatenate(Axis(0), &views).map_err(|error| Error::Data(error.to_string()))?;
                Ok((l2, loss(logits, &labels)?, one.then_some(head)))
            })
            .collect()
    }
}

/// The cross-entropy of held-out rows, at the scale of the logits that suits them best: a fitted
/// model is scaled so, too.
fn loss(logits: Array2<f64>, labels: &[usize]) -> Result<f64> {
    let probabilities = Integration::MeanField { factor: 0.0 }.softmax(logits.view(), None)?;
    let prediction = Prediction {
        predictive: Predictive::Classes(probabilities),
        logits,
        variance: None,
        mean_field_factor: 0.0,
        hidden: None,
        detectors: None,
        combination: None,
    };
    Ok(best_calibration(&prediction, labels, true)?.loss)
}
