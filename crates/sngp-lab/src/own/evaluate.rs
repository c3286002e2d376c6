//! What a model is worth, measured.

use ndarray::{Array2, Axis};
use sngp::metrics::{
    Classification, Detection, Ece, gaussian_nll, inside_and_outside, reliability, rmse,
};
use sngp::predict::{Prediction, Predictive};
use sngp::score::Score;
use sngp::{Error, Result};

use super::card::Task;
use super::dataset::Dataset;
use super::detectors::{Detector, Detectors};
use super::fit::normalized;
use super::intervals::intervals;
use super::labels::{class_indices, numbers};
use super::model::OwnModel;
use super::recipe::Prepared;
use super::showcase::{class_rows, examples};
use super::train::prepare;
use crate::evidence::{Evidence, Interval, MetricRow, RegressionEvidence, Scored, Set};

/// The sets to measure on.
pub struct Evaluation<'a> {
    /// Labelled examples like those of the training.
    pub test: &'a Dataset,
    /// Examples of no class.
    pub ood: Option<&'a Dataset>,
    /// Labelled examples under other conditions.
    pub shift: Option<&'a Dataset>,
    /// Training examples, for the detectors that compare with them.
    pub reference: Option<&'a Dataset>,
}

/// Measures a model.
pub fn evaluate(model: &OwnModel, sets: &Evaluation<'_>) -> Result<Evidence> {
    match model.card.task {
        Task::Classification { .. } => classification(model, sets),
        Task::Regression { mean, scale, interval, coverage } => {
            let (prediction, labels) = predicted(model, sets.test)?;
            let Predictive::Normal { mean: means, variance } = prediction.predictive else {
                return Err(Error::Data("a regression predicts numbers".to_string()));
            };
            let truth = numbers(labels)?;
            let means: Vec<f64> = means.iter().map(|m| m * scale + mean).collect();
            let variance: Vec<f64> = variance.iter().map(|v| v * scale * scale).collect();
            let half: Vec<f64> = variance.iter().map(|v| interval * v.sqrt()).collect();
            let rows: Vec<Interval> = (0..truth.len())
                .map(|i| Interval {
                    truth: truth[i],
                    mean: means[i],
                    low: means[i] - half[i],
                    high: means[i] + half[i],
                })
                .collect();
            let mut evidence = Evidence { metrics: Vec::new(), ..Default::default() };
            regression_metrics(&mut evidence, &means, &variance, &truth, &rows)?;
            evidence.regression = Some(RegressionEvidence { rows, coverage });
            Ok(evidence)
        }
    }
}

/// The prediction of a labelled set, and its labels.
fn predicted<'a>(model: &OwnModel, set: &'a Dataset) -> Result<(Prediction, &'a [String])> {
    let labels = set.labels.as_deref();
    let labels = labels.ok_or_else(|| Error::Data(format!("{} has no labels", set.file)))?;
    Ok((model.predict(&all(model, set)?)?, labels))
}

fn all(model: &OwnModel, set: &Dataset) -> Result<Prepared> {
    prepare(&model.card.recipe, set, &(0..set.rows()).collect::<Vec<_>>())
}

fn classification(model: &OwnModel, sets: &Evaluation<'_>) -> Result<Evidence> {
    let names = model.any().labels();
    let decision = model.any().decision();
    let score =
        decision.map_or_else(|| model.any().config().score(), |decision| decision.score.clone());
    let mut evidence = Evidence {
        score: score.to_string(),
        threshold: decision.map(|decision| decision.threshold),
        basis: decision.map(|decision| decision.basis.clone()),
        ..Default::default()
    };
    let (prediction, labels) = predicted(model, sets.test)?;
    let labels = class_indices(labels, names, &sets.test.file)?;
    evidence.test = Scored::of(&prediction, &labels, &score)?;
    class_metrics(&mut evidence, Set::Test, &prediction, &labels)?;
    evidence.reliability = reliability(prediction.probabilities()?, &labels, Ece::default().bins)?;
    evidence.classes = class_rows(&prediction, &labels, names, &evidence)?;
    examples(&mut evidence, model, sets.test, &prediction, &labels)?;
    if let Some(set) = sets.shift {
        let (prediction, labels) = predicted(model, set)?;
        let labels = class_indices(labels, names, &set.file)?;
        evidence.shift = Scored::of(&prediction, &labels, &score)?;
        class_metrics(&mut evidence, Set::Shift, &prediction, &labels)?;
    }
    if let Some(set) = sets.ood {
        let strangers = all(model, set)?;
        let outside = model.predict(&strangers)?;
        evidence.ood = score.evaluate(&outside)?;
        detection(&mut evidence, &prediction, &outside)?;
        if let Some(reference) = sets.reference {
            let inside = all(model, sets.test)?;
            compare(&mut evidence, model, reference, &inside, &strangers)?;
        }
    }
    Ok(evidence)
}

fn class_metrics(
    evidence: &mut Evidence,
    set: Set,
    prediction: &Prediction,
    labels: &[usize],
) -> Result<()> {
    let probabilities = prediction.probabilities()?;
    let metrics = Classification::all();
    let values: Vec<f64> = metrics
        .iter()
        .map(|metric| metric.evaluate(probabilities, labels))
        .collect::<Result<_>>()?;
    let measured = intervals(labels.len(), &values, |rows| {
        let probabilities = probabilities.select(Axis(0), rows);
        let labels: Vec<usize> = rows.iter().map(|&row| labels[row]).collect();
        metrics.iter().map(|metric| metric.evaluate(probabilities.view(), &labels)).collect()
    });
    let told = metrics.iter().map(|metric| {
        (metric.name().to_string(), metric.summary(), Some(metric.higher_is_better()))
    });
    push(evidence, set, told, values, measured);
    Ok(())
}

/// Adds metrics, told as name, summary and whether higher is better, with their intervals.
fn push(
    evidence: &mut Evidence,
    set: Set,
    told: impl IntoIterator<Item = (String, &'static str, Option<bool>)>,
    values: Vec<f64>,
    measured: Vec<Option<super::intervals::Interval>>,
) {
    for (((name, summary, higher_is_better), value), interval) in
        told.into_iter().zip(values).zip(measured)
    {
        evidence.metrics.push(MetricRow {
            set,
            name,
            summary: summary.to_string(),
            higher_is_better,
            value,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
        });
    }
}

fn regression_metrics(
    evidence: &mut Evidence,
    mean: &[f64],
    variance: &[f64],
    truth: &[f64],
    rows: &[Interval],
) -> Result<()> {
    let spread = {
        let centre = truth.iter().sum::<f64>() / truth.len() as f64;
        truth.iter().map(|t| (t - centre).powi(2)).sum::<f64>() / truth.len() as f64
    };
    let measure = |chosen: &[usize]| -> Result<Vec<f64>> {
        let pick = |values: &[f64]| chosen.iter().map(|&i| values[i]).collect::<Vec<f64>>();
        let (mean, variance, truth) = (pick(mean), pick(variance), pick(truth));
        let error = rmse(&mean, &truth)?;
        let hits = chosen.iter().filter(|&&i| rows[i].hit()).count();
        let width: f64 = chosen.iter().map(|&i| rows[i].high - rows[i].low).sum();
        Ok(vec![
            error,
            1.0 - error * error / spread,
            gaussian_nll(&mean, &variance, &truth)?,
            hits as f64 / chosen.len() as f64,
            width / chosen.len() as f64,
        ])
    };
    let values = measure(&(0..truth.len()).collect::<Vec<_>>())?;
    let told = [
        ("rmse", "root of the mean squared error", Some(false)),
        ("r2", "share of the targets' variance that is explained", Some(true)),
        ("nll", "mean negative log-likelihood of the true value", Some(false)),
        ("interval_coverage", "share of true values inside the interval", None),
        ("interval_width", "mean width of the interval", Some(false)),
    ];
    let measured = intervals(truth.len(), &values, measure);
    let told = told.map(|(name, summary, better)| (name.to_string(), summary, better));
    push(evidence, Set::Test, told, values, measured);
    Ok(())
}

/// OOD detection by every score the model has, the one it decides by first.
fn detection(evidence: &mut Evidence, test: &Prediction, ood: &Prediction) -> Result<()> {
    let mut scores = Score::all();
    scores.sort_by_key(|score| score.to_string() != evidence.score);
    for score in scores {
        let (inside, outside) = match (score.evaluate(test), score.evaluate(ood)) {
            (Ok(inside), Ok(outside)) => (inside, outside),
            // A score that needs what the method does not have is not shown for it.
            (Err(Error::Unsupported(_)), _) | (_, Err(Error::Unsupported(_))) => continue,
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        detected(evidence, &score.to_string(), &inside, &outside)?;
    }
    Ok(())
}

fn detected(evidence: &mut Evidence, by: &str, inside: &[f64], outside: &[f64]) -> Result<()> {
    let (scores, strange) = inside_and_outside(inside, outside);
    let metrics = Detection::all();
    let values: Vec<f64> =
        metrics.iter().map(|metric| metric.evaluate(&scores, &strange)).collect::<Result<_>>()?;
    let measured = intervals(scores.len(), &values, |rows| {
        let scores: Vec<f64> = rows.iter().map(|&row| scores[row]).collect();
        let strange: Vec<bool> = rows.iter().map(|&row| strange[row]).collect();
        metrics.iter().map(|metric| metric.evaluate(&scores, &strange)).collect()
    });
    let told = metrics.iter().map(|metric| {
        (format!("{} by {by}", metric.name()), metric.summary(), Some(metric.higher_is_better()))
    });
    push(evidence, Set::Ood, told, values, measured);
    Ok(())
}

/// The detectors that compare with training examples, on the model's hidden vectors.
fn compare(
    evidence: &mut Evidence,
    model: &OwnModel,
    reference: &Dataset,
    test: &Prepared,
    ood: &Prepared,
) -> Result<()> {
    let classes = classes(model, reference)?;
    let hidden = |inputs: &Prepared| -> Result<Array2<f32>> {
        let vectors = model.hidden(inputs)?;
        // The same vectors as the model's own features see.
        let features = &model.any().config().gaussian_process.features;
        Ok(if features.layer_norm { normalized(&vectors) } else { vectors })
    };
    let detectors =
        Detectors::fit(hidden(&all(model, reference)?)?, &classes, model.any().labels().len())?;
    let (inside, outside) = (hidden(test)?, hidden(ood)?);
    for detector in Detector::ALL {
        let inside = detectors.distances(detector, inside.view());
        let outside = detectors.distances(detector, outside.view());
        detected(evidence, detector.name(), &inside, &outside)?;
    }
    Ok(())
}

/// The prediction of a set, labelled or not.
pub fn held_out(model: &OwnModel, set: &Dataset) -> Result<Prediction> {
    model.predict(&all(model, set)?)
}

/// The classes of a labelled set, as the model numbers them.
pub fn classes(model: &OwnModel, set: &Dataset) -> Result<Vec<usize>> {
    let labels = set.labels.as_deref();
    let labels = labels.ok_or_else(|| Error::Data(format!("{} has no labels", set.file)))?;
    class_indices(labels, model.any().labels(), &set.file)
}

/// The held-out outcomes that a decision rule is chosen by.
pub fn outcomes(
    model: &OwnModel,
    set: &Dataset,
    score: &Score,
) -> Result<Vec<sngp::model::Outcome>> {
    let labels = classes(model, set)?;
    let prediction = held_out(model, set)?;
    let rows = Scored::of(&prediction, &labels, score)?;
    let outcome =
        |row: &Scored| sngp::model::Outcome { uncertainty: row.uncertainty, correct: row.correct };
    Ok(rows.iter().map(outcome).collect())
}
