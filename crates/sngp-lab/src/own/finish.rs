//! What a fitted model learns from held-out rows.

use ndarray::Axis;
use sngp::data::Targets;
use sngp::metrics::Classification;
use sngp::model::Decision;
use sngp::predict::{Prediction, Predictive};
use sngp::{Error, Result};

use super::card::Task;
use super::labels::Learning;
use super::model::OwnModel;
use super::recipe::Prepared;

/// The share of held-out examples that a new model turns away, and the coverage of its intervals.
const ABSTAIN: f64 = 0.05;
const COVERAGE: f64 = 0.9;
/// Held-out examples below this largest logit count as far from the data.
const FAR: f64 = 0.05;

/// Held-out figures, the decision rule and what prediction needs to explain itself.
pub(super) fn finish(model: &mut OwnModel, held_out: &Prepared, learning: &Learning) -> Result<()> {
    let prediction = model.predict(held_out)?;
    let score = model.any().config().score();
    // A method without a variance has nothing to abstain from a number by.
    let uncertainty = match score.evaluate(&prediction) {
        Err(Error::Unsupported(_)) => None,
        other => Some(other?),
    };
    match &learning.held_out {
        Targets::Classes { labels, .. } => {
            let probabilities = prediction.probabilities()?;
            for metric in Classification::all() {
                let value = metric.evaluate(probabilities, labels)?;
                model.card.held_out.metrics.push((metric.name().to_string(), value));
            }
            model.card.held_out.weakest = weakest(&prediction, labels, &learning.names)?;
            let mut tops = largest_logits(&prediction)?;
            tops.sort_by(f64::total_cmp);
            let least = tops[(tops.len() as f64 * FAR) as usize];
            model.card.task = Task::Classification { least_evidence: least };
        }
        Targets::Values(values) => {
            let Predictive::Normal { mean, variance } = &prediction.predictive else {
                return Err(Error::Data("a regression predicts numbers".to_string()));
            };
            let scaled = |((mean, variance), value): ((&f64, &f64), &f32)| {
                (f64::from(*value) - mean).abs() / variance.sqrt()
            };
            let residuals: Vec<f64> = mean.iter().zip(variance).zip(values).map(scaled).collect();
            let interval = conformal(&residuals, COVERAGE);
            let (mean_value, scale) = learning.units;
            let squares = mean.iter().zip(values).map(|(m, v)| (m - f64::from(*v)).powi(2));
            let rmse = (squares.sum::<f64>() / values.len() as f64).sqrt() * scale;
            model.card.held_out.metrics.push(("rmse".to_string(), rmse));
            model.card.task =
                Task::Regression { mean: mean_value, scale, interval, coverage: COVERAGE };
        }
    }
    if let Some(uncertainty) = uncertainty {
        // So few held-out examples allow no smaller share.
        let least = 1.0 / (uncertainty.len() + 1) as f64;
        let share = if ABSTAIN > least { ABSTAIN } else { (1.5 * least).min(0.5) };
        model.set_decision(Decision::turning_away_at_most(share, score, &uncertainty)?)?;
    }
    Ok(())
}

/// The `ceil((n + 1) coverage)`-th smallest residual, or the largest where there are too few.
fn conformal(residuals: &[f64], coverage: f64) -> f64 {
    let mut sorted = residuals.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = ((sorted.len() + 1) as f64 * coverage).ceil() as usize;
    sorted.get(rank - 1).or(sorted.last()).copied().unwrap_or(1.0)
}

/// The largest adjusted logit of every row: how much speaks for any class.
pub fn largest_logits(prediction: &Prediction) -> Result<Vec<f64>> {
    let logits = prediction.class_logits()?;
    let top = |row: ndarray::ArrayView1<'_, f64>| row.iter().copied().fold(f64::MIN, f64::max);
    Ok(logits.axis_iter(Axis(0)).map(top).collect())
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
