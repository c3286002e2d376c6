//! A model of numbers, measured.

use sngp::metrics::{gaussian_nll, loss_coverage, rmse};
use sngp::predict::{Prediction, Predictive};
use sngp::score::Score;
use sngp::{Error, Result};
use sngp_pipeline::input::Dataset;
use sngp_pipeline::{Pipeline, Task};

use super::detection::{OodSets, add_ood, by_scores};
use super::measured::Measured;
use super::metric_rows::{Place, Told, add, pick};
use super::nothing_left;
use super::sets::Evaluation;
use super::showcase::accepted_ood;
use super::warnings::Notes;
use crate::evidence::{Evidence, Interval, RegressionEvidence, Set};

/// Numbers that were predicted for rows whose truth is known.
struct Predicted {
    rows: Vec<Interval>,
    /// Of the predicted distributions; none where only a rate is predicted.
    variance: Option<Vec<f64>>,
}

pub(super) fn measure(
    model: &Pipeline,
    sets: &Evaluation<'_>,
    evidence: &mut Evidence,
) -> Result<()> {
    let Task::Regression { coverage, .. } = model.card().task else {
        return Err(Error::Data("a model of classes predicts no numbers".to_string()));
    };
    let mut warnings = std::mem::take(&mut evidence.warnings);
    let mut notes = Notes { warnings: &mut warnings, strict: sets.strict };
    let (test, truth) = labelled(model, sets.test, &mut notes)?
        .ok_or_else(|| nothing_left(&sets.test.file, notes.warnings))?;
    let score = model.score();
    let score = test.score(&score)?.map(|_| score);
    evidence.score = score.as_ref().map_or(String::new(), Score::to_string);
    let mut ood = OodSets::new();
    for (name, set) in &sets.ood {
        let measured = Measured::all(model, set, &mut notes)?;
        ood.extend(measured.map(|measured| (name.clone(), measured)));
    }
    let predicted = predicted(model, &test, &truth, score.as_ref())?;
    let mut regression = RegressionEvidence { rows: Vec::new(), shift: Vec::new(), coverage };
    number_metrics(evidence, Set::Test, &predicted, regression.has_intervals())?;
    regression.rows = predicted.rows;
    if let Some(set) = sets.shift
        && let Some((shift, truth)) = labelled(model, set, &mut notes)?
    {
        let predicted = self::predicted(model, &shift, &truth, score.as_ref())?;
        number_metrics(evidence, Set::Shift, &predicted, regression.has_intervals())?;
        regression.shift = predicted.rows;
    }
    evidence.regression = Some(regression);
    add_ood(evidence, score.as_ref(), &ood)?;
    evidence.accepted_ood = accepted_ood(evidence, model, &ood)?;
    if let Some(score) = &score {
        by_scores(evidence, &test, &ood, None, score)?;
    }
    evidence.warnings = warnings;
    Ok(())
}

/// The rows whose label is a number and that can be measured, with those numbers; none where there
/// is no such row.
fn labelled<'a>(
    model: &Pipeline,
    set: &'a Dataset,
    notes: &mut Notes<'_>,
) -> Result<Option<(Measured<'a>, Vec<f64>)>> {
    notes.unlabelled(&set.file, set.unlabelled)?;
    let labels = set.labels()?;
    let number = |label: &String| label.parse::<f64>().ok().filter(|value| value.is_finite());
    let numbers: Vec<Option<f64>> = labels.iter().map(number).collect();
    let bad = (0..labels.len()).filter(|&row| numbers[row].is_none());
    let bad: Vec<(usize, &str)> = bad.map(|row| (row, labels[row].as_str())).collect();
    notes.no_numbers(&set.file, &bad)?;
    let wanted: Vec<usize> = (0..labels.len()).filter(|&row| numbers[row].is_some()).collect();
    let measured = Measured::of(model, set, &wanted, notes)?;
    Ok(measured.map(|measured| {
        let truth = measured.rows.iter().filter_map(|&row| numbers[row]).collect();
        (measured, truth)
    }))
}

/// Means and variances in the units of the data, the intervals the model promises, and how
/// uncertain it is by its score.
fn predicted(
    model: &Pipeline,
    rows: &Measured<'_>,
    truth: &[f64],
    score: Option<&Score>,
) -> Result<Predicted> {
    let (means, variance) = moments(model, &rows.prediction)?;
    let half: Vec<f64> = match (&model.card().task, &variance) {
        (Task::Regression { interval, .. }, Some(variance)) => {
            variance.iter().map(|variance| interval * variance.sqrt()).collect()
        }
        _ => vec![0.0; means.len()],
    };
    let uncertainty = score.map(|score| rows.score(score)).transpose()?.flatten();
    let uncertainty = uncertainty.unwrap_or_else(|| vec![0.0; means.len()]);
    let row = |i: usize| Interval {
        truth: truth[i],
        mean: means[i],
        low: means[i] - half[i],
        high: means[i] + half[i],
        uncertainty: uncertainty[i],
        admitted: rows.admitted[i],
    };
    Ok(Predicted { rows: (0..truth.len()).map(row).collect(), variance })
}

/// Predicted means, and variances where the model has them, in the units of the data.
pub(super) fn moments(
    model: &Pipeline,
    prediction: &Prediction,
) -> Result<(Vec<f64>, Option<Vec<f64>>)> {
    match (&prediction.predictive, &model.card().task) {
        (Predictive::Normal { mean, variance }, Task::Regression { mean: centre, scale, .. }) => {
            let means = mean.iter().map(|mean| mean * scale + centre).collect();
            let variance = variance.iter().map(|variance| variance * scale * scale).collect();
            Ok((means, Some(variance)))
        }
        (Predictive::Rate(rates), _) => Ok((rates.clone(), None)),
        _ => Err(Error::Data("a regression predicts numbers".to_string())),
    }
}

fn number_metrics(
    evidence: &mut Evidence,
    set: Set,
    predicted: &Predicted,
    intervals: bool,
) -> Result<()> {
    let Predicted { rows, variance } = predicted;
    let column = |of: fn(&Interval) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
    let (mean, truth) = (column(|row| row.mean), column(|row| row.truth));
    let centre = truth.iter().sum::<f64>() / truth.len() as f64;
    let spread = truth.iter().map(|t| (t - centre).powi(2)).sum::<f64>() / truth.len() as f64;

    let mut told = vec![Told::new("rmse", "root of the mean squared error", Some(false))];
    if spread > 0.0 {
        let summary = "share of the targets' variance that is explained";
        told.push(Told::new("r2", summary, Some(true)));
    }
    if variance.is_some() {
        let summary = "mean negative log-likelihood of the true value";
        told.push(Told::new("nll", summary, Some(false)));
    }
    if intervals {
        let summary = "share of true values inside the interval";
        told.push(Told::new("interval_coverage", summary, None));
        told.push(Told::new("interval_width", "mean width of the interval", Some(false)));
    }
    add(evidence, Place::of(set), told, rows.len(), true, |chosen| {
        let (mean, truth) = (pick(&mean, chosen), pick(&truth, chosen));
        let error = rmse(&mean, &truth)?;
        let mut values = vec![error];
        if spread > 0.0 {
            values.push(1.0 - error * error / spread);
        }
        if let Some(variance) = variance {
            values.push(gaussian_nll(&mean, &pick(variance, chosen), &truth)?);
        }
        if intervals {
            let count = chosen.len() as f64;
            let hits = chosen.iter().filter(|&&row| rows[row].hit()).count();
            let width: f64 = chosen.iter().map(|&row| rows[row].high - rows[row].low).sum();
            values.extend([hits as f64 / count, width / count]);
        }
        Ok(values)
    })?;
    abstention_metrics(evidence, set, rows, intervals)
}

/// What abstaining is worth: how much is answered, and how much better that is.
fn abstention_metrics(
    evidence: &mut Evidence,
    set: Set,
    rows: &[Interval],
    intervals: bool,
) -> Result<()> {
    if !evidence.score.is_empty() {
        let by = evidence.score.clone();
        let summary = "area under the risk-coverage curve of the squared error";
        let told = vec![Told::new(format!("aurc by {by}"), summary, Some(false))];
        let place = Place { by: Some(&by), ..Place::of(set) };
        add(evidence, place, told, rows.len(), true, |chosen| {
            let (scores, losses): (Vec<f64>, Vec<f64>) = chosen
                .iter()
                .map(|&row| (rows[row].uncertainty, rows[row].squared_error()))
                .unzip();
            Ok(vec![loss_coverage(&scores, &losses)?.area()])
        })?;
    }
    let accepted: Vec<bool> =
        rows.iter().map(|row| evidence.accepts(row.uncertainty, row.admitted)).collect();
    if !accepted.contains(&true) || (evidence.threshold.is_none() && !accepted.contains(&false)) {
        return Ok(());
    }
    let mut told = vec![
        Told::new("share_rejected", "share of the examples that its decision rejects", None),
        Told::new(
            "rmse_of_answered",
            "root of the mean squared error of those that are answered",
            Some(false),
        ),
    ];
    if intervals {
        let summary = "share of true values inside the interval, of those that are answered";
        told.push(Told::new("interval_coverage_of_answered", summary, None));
    }
    add(evidence, Place::of(set), told, rows.len(), true, |chosen| {
        let answered: Vec<&Interval> =
            chosen.iter().filter(|&&row| accepted[row]).map(|&row| &rows[row]).collect();
        let mean: Vec<f64> = answered.iter().map(|row| row.mean).collect();
        let truth: Vec<f64> = answered.iter().map(|row| row.truth).collect();
        let count = answered.len() as f64;
        let mut values = vec![1.0 - count / chosen.len() as f64, rmse(&mean, &truth)?];
        if intervals {
            values.push(answered.iter().filter(|row| row.hit()).count() as f64 / count);
        }
        Ok(values)
    })
}
