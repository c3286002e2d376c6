//! A model of classes, measured.

use ndarray::{Array2, Axis, concatenate};
use sngp::metrics::{Classification, Ece, UnionCalibration, reliability};
use sngp::predict::Prediction;
use sngp::{Error, Result};
use sngp_pipeline::Pipeline;
use sngp_pipeline::fit::{KnownRows, known_rows};
use sngp_pipeline::input::Dataset;

use super::detection::{OodSets, add_ood, by_scores, misclassification};
use super::measured::Measured;
use super::metric_rows::{Place, Told, add, pick};
use super::nothing_left;
use super::sets::{Evaluation, UNKNOWN_LABELS};
use super::showcase::{accepted_ood, class_rows, confusions, examples};
use super::warnings::{LEFT_OUT, Notes, about_classes};
use crate::evidence::{Evidence, Scored, Set};

/// Rows of known classes.
pub(super) struct Labelled<'a> {
    pub measured: Measured<'a>,
    pub classes: Vec<usize>,
}

pub(super) fn measure(
    model: &Pipeline,
    sets: &Evaluation<'_>,
    evidence: &mut Evidence,
) -> Result<()> {
    let score = model.score();
    evidence.score = score.to_string();
    let mut warnings = std::mem::take(&mut evidence.warnings);
    let mut notes = Notes { warnings: &mut warnings, strict: sets.strict };

    let fate = format!("they are measured as the OOD set `{UNKNOWN_LABELS}`");
    let known = known(model, sets.test, &fate, &mut notes)?;
    let test = labelled(model, sets.test, &known, &mut notes)?;
    let test = test.ok_or_else(|| nothing_left(&sets.test.file, notes.warnings))?;
    let mut ood = OodSets::new();
    for (name, set) in &sets.ood {
        let measured = Measured::all(model, set, &mut notes)?;
        ood.extend(measured.map(|measured| (name.clone(), measured)));
    }
    let unknown = match known.unknown_rows.as_slice() {
        [] => None,
        rows => Measured::of(model, sets.test, rows, &mut notes)?,
    };
    ood.extend(unknown.map(|measured| (UNKNOWN_LABELS.to_string(), measured)));

    evidence.test = scored(&test, model)?;
    add_ood(evidence, Some(&score), &ood)?;
    class_metrics(evidence, Set::Test, &test)?;
    union(evidence, &test, &ood)?;
    let probabilities = test.measured.prediction.stated_probabilities()?;
    evidence.reliability = reliability(probabilities.view(), &test.classes, Ece::default().bins)?;
    evidence.classes = class_rows(&test, model.labels(), evidence)?;
    evidence.confusions = confusions(&test, model.labels(), evidence)?;
    examples(evidence, model, &test)?;
    evidence.accepted_ood = accepted_ood(evidence, model, &ood)?;
    if let Some(set) = sets.shift {
        let known = self::known(model, set, LEFT_OUT, &mut notes)?;
        if let Some(shift) = labelled(model, set, &known, &mut notes)? {
            evidence.shift = scored(&shift, model)?;
            class_metrics(evidence, Set::Shift, &shift)?;
            let scores: Vec<f64> = evidence.shift.iter().map(|row| row.uncertainty).collect();
            let wrong: Vec<bool> = evidence.shift.iter().map(|row| !row.correct).collect();
            misclassification(evidence, Set::Shift, &score.to_string(), &scores, &wrong)?;
        }
    }
    let wrong: Vec<bool> = evidence.test.iter().map(|row| !row.correct).collect();
    by_scores(evidence, &test.measured, &ood, Some(&wrong), &score)?;
    evidence.warnings = warnings;
    about_classes(evidence);
    Ok(())
}

/// Which rows of a labelled set are of known classes; the other ones are noted.
fn known(model: &Pipeline, set: &Dataset, fate: &str, notes: &mut Notes<'_>) -> Result<KnownRows> {
    notes.unlabelled(&set.file, set.unlabelled)?;
    let known = known_rows(set.labels()?, model.labels());
    notes.unknown(&set.file, &known, fate)?;
    Ok(known)
}

/// The rows of known classes that can be measured; none where there is no such row.
fn labelled<'a>(
    model: &Pipeline,
    set: &'a Dataset,
    known: &KnownRows,
    notes: &mut Notes<'_>,
) -> Result<Option<Labelled<'a>>> {
    let Some(measured) = Measured::of(model, set, &known.rows, notes)? else { return Ok(None) };
    let classes = classes_of(model, set, &measured.rows)?;
    Ok(Some(Labelled { measured, classes }))
}

/// The classes of rows whose labels are known.
fn classes_of(model: &Pipeline, set: &Dataset, rows: &[usize]) -> Result<Vec<usize>> {
    let labels = set.labels()?;
    let own: Vec<String> = rows.iter().map(|&row| labels[row].clone()).collect();
    Ok(known_rows(&own, model.labels()).classes)
}

fn scored(rows: &Labelled<'_>, model: &Pipeline) -> Result<Vec<Scored>> {
    let mut scored = Scored::of(&rows.measured.prediction, &rows.classes, &model.score())?;
    let admitted = &rows.measured.admitted;
    scored.iter_mut().zip(admitted).for_each(|(row, admitted)| row.admitted = *admitted);
    Ok(scored)
}

fn class_metrics(evidence: &mut Evidence, set: Set, rows: &Labelled<'_>) -> Result<()> {
    let prediction = &rows.measured.prediction;
    let (own, stated) = (prediction.probabilities()?, prediction.stated_probabilities()?);
    // The area under the risk-coverage curve is measured by each score, this one's among them.
    let mut metrics = Classification::all();
    metrics.retain(|metric| !matches!(metric, Classification::Aurc(_)));
    let told = metrics
        .iter()
        .map(|metric| Told::new(metric.name(), metric.summary(), Some(metric.higher_is_better())));
    add(evidence, Place::of(set), told.collect(), rows.classes.len(), true, |chosen| {
        let probabilities = stated.select(Axis(0), chosen);
        let labels = pick(&rows.classes, chosen);
        metrics.iter().map(|metric| metric.evaluate(probabilities.view(), &labels)).collect()
    })?;
    if !is_mixed(prediction) {
        return Ok(());
    }
    metrics.retain(|metric| matches!(metric, Classification::Ece(_) | Classification::Nll(_)));
    let told = metrics.iter().map(|metric| alone(metric.name())).collect();
    add(evidence, Place::of(set), told, rows.classes.len(), true, |chosen| {
        let probabilities = own.select(Axis(0), chosen);
        let labels = pick(&rows.classes, chosen);
        metrics.iter().map(|metric| metric.evaluate(probabilities.view(), &labels)).collect()
    })
}

/// Whether other probabilities are said than the model's own.
fn is_mixed(prediction: &Prediction) -> bool {
    prediction.combination.as_ref().is_some_and(|told| told.minimax().is_some())
}

/// A metric of the model's own probabilities, beside that of those which are said.
fn alone(metric: &str) -> Told {
    let summary = "the same before probabilities are mixed with the uniform distribution";
    Told::new(format!("{metric} of the model alone"), summary, Some(false))
}

/// ECE and NLL over test and OOD rows together, where there are OOD rows.
fn union(evidence: &mut Evidence, test: &Labelled<'_>, ood: &OodSets<'_>) -> Result<()> {
    if ood.is_empty() {
        return Ok(());
    }
    let told = vec![
        Told::new(
            "ece",
            "expected calibration error, where any answer to an OOD row is wrong",
            Some(false),
        ),
        Told::new("nll", "cross-entropy, with uniform as the target of OOD rows", Some(false)),
    ];
    let stated = |rows: &Prediction| Ok(rows.stated_probabilities()?.into_owned());
    union_of(evidence, told, test, ood, stated)?;
    if is_mixed(&test.measured.prediction) {
        let own = |rows: &Prediction| Ok(rows.probabilities()?.to_owned());
        union_of(evidence, vec![alone("ece"), alone("nll")], test, ood, own)?;
    }
    Ok(())
}

fn union_of(
    evidence: &mut Evidence,
    told: Vec<Told>,
    test: &Labelled<'_>,
    ood: &OodSets<'_>,
    probabilities: impl Fn(&Prediction) -> Result<Array2<f64>>,
) -> Result<()> {
    let inside = probabilities(&test.measured.prediction)?;
    let outside = ood.iter().map(|(_, set)| probabilities(&set.prediction));
    let outside = outside.collect::<Result<Vec<_>>>()?;
    let views: Vec<_> = outside.iter().map(|set| set.view()).collect();
    let outside = concatenate(Axis(0), &views).map_err(|error| Error::Data(error.to_string()))?;
    let rows = inside.nrows() + outside.nrows();
    add(evidence, Place::of(Set::Union), told, rows, true, |chosen| {
        let (known, unknown): (Vec<usize>, Vec<usize>) =
            chosen.iter().partition(|row| **row < inside.nrows());
        let unknown: Vec<usize> = unknown.iter().map(|row| row - inside.nrows()).collect();
        let inside = inside.select(Axis(0), &known);
        let outside = outside.select(Axis(0), &unknown);
        let (labels, bins) = (pick(&test.classes, &known), Ece::default().bins);
        let found = UnionCalibration::of(inside.view(), &labels, outside.view(), bins)?;
        Ok(vec![found.ece, found.nll])
    })
}
