//! A model of classes, measured.

use ndarray::Axis;
use sngp::Result;
use sngp::metrics::{Classification, Ece, reliability};
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
    let test = test.ok_or_else(|| nothing_left(&sets.test.file))?;
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
    let probabilities = test.measured.prediction.probabilities()?;
    evidence.reliability = reliability(probabilities, &test.classes, Ece::default().bins)?;
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
    let probabilities = rows.measured.prediction.probabilities()?;
    // The area under the risk-coverage curve is measured by each score, this one's among them.
    let mut metrics = Classification::all();
    metrics.retain(|metric| !matches!(metric, Classification::Aurc(_)));
    let told = metrics
        .iter()
        .map(|metric| Told::new(metric.name(), metric.summary(), Some(metric.higher_is_better())));
    add(evidence, Place::of(set), told.collect(), rows.classes.len(), true, |chosen| {
        let probabilities = probabilities.select(Axis(0), chosen);
        let labels = pick(&rows.classes, chosen);
        metrics.iter().map(|metric| metric.evaluate(probabilities.view(), &labels)).collect()
    })
}
