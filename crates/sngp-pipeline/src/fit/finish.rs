//! What a fitted model learns from held-out rows.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};
use sngp::data::Targets;
use sngp::detect::{Combination, Detectors};
use sngp::method::Output;
use sngp::metrics::{Classification, conformal_quantile, rmse};
use sngp::predict::{Prediction, Predictive};
use sngp::{Error, Result};

use super::by_chance::by_chance;
use super::examples::{Examples, TrainInputs};
use super::labels::Learning;
use super::network::Fit;
use super::options::Options;
use crate::aim::Aim;
use crate::calibration_rows::CalibrationRows;
use crate::card::{Card, HeldOut, Task, Training};
use crate::detectors::geometry;
use crate::guard::{Guard, GuardSums, View};
use crate::input::{Dataset, Preparation, Prepared};
use crate::pipeline::Pipeline;
use crate::seen::{Seen, hashes};

/// The share of held-out examples that a new model rejects, and the coverage of its intervals.
const ABSTAIN: f64 = 0.05;
const COVERAGE: f64 = 0.9;
/// Held-out numbers whose errors would be as predicted, added to those there are.
const DOUBT: f64 = 3.0;
/// Held-out examples below this largest logit count as far from the data.
const FAR: f64 = 0.05;
/// Training rows that the guard sees at a time, and sentences it sees in all.
const CHUNK: usize = 8192;
const SENTENCES: usize = 2000;
/// Sentences whose vectors detectors are fitted to where the encoder was trained.
const TUNED_SENTENCES: usize = 20_000;
/// Ranks of the score that are kept to compare later traffic with.
const REFERENCE: usize = 200;

/// Held-out figures, the guard, the decision rule and what prediction needs to explain itself.
pub(super) fn finish(
    fit: Fit,
    examples: &Examples,
    promise: &Promise,
    data: &Dataset,
    options: &Options<'_>,
    remarks: &mut Vec<String>,
) -> Result<Pipeline> {
    let learning = &examples.learning;
    let frozen = match &examples.train {
        TrainInputs::Sentences(embedded) if !options.fine_tune => {
            Some(embedded.hidden(&fit.model)?)
        }
        _ => None,
    };
    let Fit { model, tokenizer, words, .. } = fit;
    let card = Card {
        preparation: examples.preparation.clone(),
        label: options.label.clone(),
        // Both are filled in below, from the held-out rows.
        task: Task::Classification { least_evidence: f64::MIN },
        training: Training { file: data.file.clone(), rows: examples.rows.len(), fit: words },
        held_out: HeldOut { rows: examples.held_out.rows(), ..Default::default() },
        aim: None,
        uncalibrated: false,
        reference: Vec::new(),
        minimax: None,
        fresh_p_values: false,
    };
    let mut pipeline = Pipeline {
        card,
        model: Box::new(model),
        tokenizer,
        guard: None,
        detectors: None,
        combination: None,
        seen: None,
        calibration: None,
    };
    let mut prediction = pipeline.predict(&examples.held_out)?;
    if let Targets::Classes { labels, classes } = &learning.train {
        let detectors = detectors_of(&pipeline, examples, frozen.as_ref(), labels, *classes)?;
        let scaled = detectors.map(|detectors| detectors.scaled_to(&prediction));
        pipeline.detectors = scaled.transpose()?.map(Arc::new);
        prediction.detectors = pipeline.detectors.clone();
        pipeline.combination = Some(Arc::new(Combination::of(&prediction)?));
        prediction.combination = pipeline.combination.clone();
    }
    match &learning.held_out {
        Targets::Classes { labels, .. } => {
            if options.minimax {
                pipeline.choose_minimax(&prediction, labels)?;
                prediction.combination = pipeline.combination.clone();
            }
            pipeline.card.task =
                classes(&mut pipeline.card.held_out, &prediction, labels, learning)?;
            remarks.extend(by_chance(&prediction.labels()?, labels));
        }
        Targets::Values(values) => {
            pipeline.card.task =
                numbers(&mut pipeline.card.held_out, &prediction, values, promise, learning)?;
        }
    }
    pipeline.guard = guard_of(&pipeline, examples)?;
    decide(&mut pipeline, examples, &prediction, remarks)?;
    pipeline.seen = seen_by(examples);
    Ok(pipeline)
}

fn classes(
    held_out: &mut HeldOut,
    prediction: &Prediction,
    labels: &[usize],
    learning: &Learning,
) -> Result<Task> {
    let probabilities = prediction.stated_probabilities()?;
    for metric in Classification::all() {
        let value = metric.evaluate(probabilities.view(), labels)?;
        held_out.metrics.push((metric.name().to_string(), value));
    }
    held_out.weakest = weakest(prediction, labels, &learning.names)?;
    let mut tops = prediction.largest_logits()?;
    tops.sort_by(f64::total_cmp);
    Ok(Task::Classification { least_evidence: tops[(tops.len() as f64 * FAR) as usize] })
}

fn numbers(
    held_out: &mut HeldOut,
    prediction: &Prediction,
    values: &[f32],
    promise: &Promise,
    learning: &Learning,
) -> Result<Task> {
    let Predictive::Normal { mean, variance } = &prediction.predictive else {
        return Err(Error::Data("a regression predicts numbers".to_string()));
    };
    let truth: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    let (centre, scale) = learning.units;
    held_out.metrics.push(("rmse".to_string(), rmse(mean, &truth)? * scale));
    // A network knows its own training rows too well: held-out errors say how far off it is.
    let mut errors: Vec<f64> =
        (0..truth.len()).map(|row| (truth[row] - mean[row]) / variance[row].sqrt()).collect();
    let promising = promise.rows(errors.len());
    if let Promise::AllAndLeftOut(others) = promise {
        errors.extend(others);
    }
    let spread = spread(&errors);
    let residuals = promising.iter().map(|&row| errors[row].abs() / spread.sqrt());
    let residuals: Vec<f64> = residuals.collect();
    let (interval, coverage) = match conformal_quantile(&residuals, COVERAGE)? {
        Some(interval) => (interval, COVERAGE),
        // The largest of n residuals holds n of n + 1 values, and no more.
        None => {
            let count = residuals.len() as f64;
            (residuals.iter().copied().fold(0.0, f64::max), count / (count + 1.0))
        }
    };
    Ok(Task::Regression { mean: centre, scale, interval, coverage, spread })
}

/// Errors that numbers are promised an interval by.
pub(super) enum Promise {
    /// Those of held-out rows, which have chosen nothing.
    All,
    /// Those of every second one: rows that chose the settings know too much to promise with.
    Half,
    /// Those of held-out rows. With them, further ones in predicted deviations say how large variances
    /// are, each of a row that was left out of the fit; they promise nothing, since length scales
    /// were chosen on their rows.
    AllAndLeftOut(Vec<f64>),
}

impl Promise {
    fn rows(&self, rows: usize) -> Vec<usize> {
        match self {
            Self::Half => (1..rows).step_by(2).collect(),
            Self::All | Self::AllAndLeftOut(_) => (0..rows).collect(),
        }
    }
}

/// Held-out rows of numbers that settings are chosen on where half of them promise.
pub(super) fn choosing_rows(rows: usize) -> Vec<usize> {
    (0..rows).step_by(2).collect()
}

/// The factor on predicted variances that makes them as large as errors in predicted deviations say.
pub(super) fn spread(errors: &[f64]) -> f64 {
    let squares: f64 = errors.iter().map(|error| error * error).sum();
    (squares + DOUBT) / (errors.len() as f64 + DOUBT)
}

/// Lets the pipeline abstain by its default score, where it has one.
fn decide(
    pipeline: &mut Pipeline,
    examples: &Examples,
    prediction: &Prediction,
    remarks: &mut Vec<String>,
) -> Result<()> {
    let score = pipeline.default_score();
    let labels = match &examples.learning.held_out {
        Targets::Classes { labels, .. } => Some(labels.as_slice()),
        Targets::Values(_) => None,
    };
    let scores = match score.evaluate(prediction) {
        Ok(scores) => scores,
        // A method without a variance has nothing to doubt a number by but the input itself.
        Err(Error::Unsupported(_)) => {
            remarks.push(format!(
                "{} gives numbers no uncertainty of their own: only inputs unlike the training \
                 data are rejected",
                pipeline.model.config().method
            ));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    pipeline.card.reference = reference(scores);
    let rows = examples.held_out.rows();
    // So few held-out examples allow no smaller share.
    let least = 1.0 / (rows + 1) as f64;
    let mut share = if ABSTAIN > least { ABSTAIN } else { (1.5 * least).min(0.5) };
    // Where guard and distance rule reject more than that, more is rejected, and said.
    let aim = loop {
        let aim = Aim::Abstention { share, score: score.clone() };
        match pipeline.decide(&aim, &examples.held_out, labels) {
            Ok(decision) => {
                pipeline.model.set_decision(Some(decision));
                break aim;
            }
            Err(Error::Data(_)) if share < 0.5 => share = (2.0 * share).min(0.5),
            Err(error) => return Err(error),
        }
    };
    pipeline.card.aim = Some(aim);
    pipeline.calibration = CalibrationRows::of(&examples.held_out, labels);
    Ok(())
}

/// Values at evenly spread ranks.
fn reference(mut scores: Vec<f64>) -> Vec<f64> {
    scores.retain(|score| score.is_finite());
    scores.sort_by(f64::total_cmp);
    let step = (scores.len() as f64 / REFERENCE as f64).max(1.0);
    let at = |rank: usize| scores.get((rank as f64 * step) as usize).copied();
    (0..REFERENCE.min(scores.len())).map_while(at).collect()
}

/// What the guard looks at, of every kind of input.
fn guard_of(pipeline: &Pipeline, examples: &Examples) -> Result<Option<Guard>> {
    let view = match &examples.preparation {
        Preparation::Table(table) => {
            let places = table.numbers();
            if places.is_empty() {
                return Ok(None);
            }
            View::Numbers { places }
        }
        Preparation::Vectors { .. } | Preparation::Sentences { .. } | Preparation::Encoded(_) => {
            View::Direction
        }
        Preparation::Images(images) => View::Picture { size: images.size },
        // Texts without an encoder are known by their pieces; numbers as they are have no units.
        Preparation::Ngrams(_) | Preparation::Texts(_) | Preparation::Numbers { .. } => {
            return Ok(None);
        }
    };
    let (classes, count) = match &examples.learning.train {
        Targets::Classes { labels, classes } => (labels.clone(), *classes),
        Targets::Values(values) => (vec![0; values.len()], 1),
    };
    let mut sums = GuardSums::new(view, count);
    match &examples.train {
        TrainInputs::Vectors(vectors)
        | TrainInputs::CrossFitted { vectors, .. }
        | TrainInputs::Logits { vectors, .. } => {
            sums.add(vectors.view(), &classes);
        }
        TrainInputs::Mapped(mapped) => {
            let rows: Vec<usize> = (0..mapped.rows()).collect();
            for rows in rows.chunks(CHUNK) {
                let classes: Vec<usize> = rows.iter().map(|&row| classes[row]).collect();
                sums.add(mapped.load(rows).view(), &classes);
            }
        }
        TrainInputs::Sentences(embedded) => {
            // The trained network's own vectors: fine-tuning has moved them.
            let step = classes.len().div_ceil(SENTENCES).max(1);
            let rows: Vec<usize> = (0..classes.len()).step_by(step).collect();
            let texts = Prepared::Texts(embedded.some_texts(&rows));
            let classes: Vec<usize> = rows.iter().map(|&row| classes[row]).collect();
            sums.add(pipeline.hidden(&texts)?.view(), &classes);
        }
    }
    let held_out = match examples.held_out.vectors() {
        Some(vectors) => vectors.clone(),
        None => pipeline.hidden(&examples.held_out)?,
    };
    sums.finish(held_out.view()).map(Some)
}

/// Detectors of the hidden vectors of the training rows; none for methods that have no such vectors.
fn detectors_of(
    pipeline: &Pipeline,
    examples: &Examples,
    frozen: Option<&Array2<f32>>,
    labels: &[usize],
    classes: usize,
) -> Result<Option<Detectors>> {
    let recipe = pipeline.model.config().method.recipe();
    if recipe.output == Output::ExactGaussianProcess {
        return Ok(None);
    }
    let width = pipeline.model.hidden_width();
    let geometry = geometry(&examples.preparation, &*pipeline.model)?;
    let mut detectors = Detectors::new(geometry, width, classes);
    let mut add = |hidden: ArrayView2<'_, f32>, rows: &[usize]| {
        let labels: Vec<usize> = rows.iter().map(|&row| labels[row]).collect();
        detectors.add(hidden, &labels)
    };
    let rows: Vec<usize> = (0..labels.len()).collect();
    match (&examples.train, frozen) {
        (
            TrainInputs::Vectors(vectors)
            | TrainInputs::CrossFitted { vectors, .. }
            | TrainInputs::Logits { vectors, .. },
            _,
        ) => {
            for rows in rows.chunks(CHUNK) {
                let some = vectors.select(Axis(0), rows);
                add(pipeline.hidden(&Prepared::Vectors(some))?.view(), rows)?;
            }
        }
        (TrainInputs::Mapped(mapped), _) => {
            for rows in rows.chunks(CHUNK) {
                add(pipeline.hidden(&Prepared::Vectors(mapped.load(rows)))?.view(), rows)?;
            }
        }
        (TrainInputs::Sentences(_), Some(hidden)) => add(hidden.view(), &rows)?,
        (TrainInputs::Sentences(embedded), None) => {
            let step = rows.len().div_ceil(TUNED_SENTENCES).max(1);
            let some: Vec<usize> = rows.into_iter().step_by(step).collect();
            let texts = Prepared::Texts(embedded.some_texts(&some));
            add(pipeline.hidden(&texts)?.view(), &some)?;
        }
    }
    Ok(Some(detectors))
}

/// Says how many rows of a validation set are training rows too; what such rows promise holds for no
/// others, so not all of them may be.
pub(super) fn check_validation(examples: &Examples, remarks: &mut Vec<String>) -> Result<()> {
    let known = learned_by(examples).contains(&held_out_hashes(examples));
    let (twice, all) = (known.iter().filter(|known| **known).count(), known.len());
    if twice == all && all > 0 {
        let message =
            "the validation set has training rows only: what they promise holds for no others";
        return Err(Error::Data(message.to_string()));
    }
    if twice > 0 {
        remarks.push(format!(
            "{twice} of {all} rows of the validation set are training rows too: the model looks better on \
             them than it is"
        ));
    }
    Ok(())
}

fn seen_by(examples: &Examples) -> Option<Seen> {
    let mut seen = learned_by(examples);
    seen.add_known(&held_out_hashes(examples));
    (!seen.is_too_large()).then_some(seen)
}

fn held_out_hashes(examples: &Examples) -> Vec<u64> {
    match &examples.learned_held_out {
        Some(vectors) => hashes(&Prepared::Vectors(vectors.clone())),
        None => hashes(&examples.held_out),
    }
}

/// The training rows.
fn learned_by(examples: &Examples) -> Seen {
    let mut seen = Seen::default();
    match &examples.train {
        _ if !examples.hashes.is_empty() => seen.add(&examples.hashes),
        TrainInputs::Vectors(vectors)
        | TrainInputs::CrossFitted { vectors, .. }
        | TrainInputs::Logits { vectors, .. } => {
            for rows in vectors.axis_chunks_iter(ndarray::Axis(0), CHUNK) {
                seen.add(&hashes(&Prepared::Vectors(rows.to_owned())));
            }
        }
        TrainInputs::Mapped(mapped) => {
            let rows: Vec<usize> = (0..mapped.rows()).collect();
            for rows in rows.chunks(CHUNK) {
                seen.add(&hashes(&Prepared::Vectors(mapped.load(rows))));
            }
        }
        TrainInputs::Sentences(embedded) => {
            seen.add(&hashes(&Prepared::Texts(embedded.texts.clone())));
        }
    }
    seen
}

/// Classes by the share of their examples that is recognized, at most ten.
fn weakest(
    prediction: &Prediction,
    labels: &[usize],
    names: &[String],
) -> Result<Vec<(String, f64)>> {
    let mut counts = vec![(0usize, 0usize); names.len()];
    for (found, &label) in prediction.labels()?.into_iter().zip(labels) {
        counts[label].0 += usize::from(found == label);
        counts[label].1 += 1;
    }
    let mut shares: Vec<(String, f64)> = counts
        .iter()
        .zip(names)
        .filter(|((_, all), _)| *all > 0)
        .map(|((right, all), name)| (name.clone(), *right as f64 / *all as f64))
        .collect();
    shares.sort_by(|a, b| a.1.total_cmp(&b.1));
    shares.truncate(10);
    Ok(shares)
}
