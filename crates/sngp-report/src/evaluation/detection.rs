//! How well scores find what should be rejected: misclassifications, OOD examples, and both.

use sngp::Result;
use sngp::metrics::{Detection, auroc, inside_and_outside, risk_coverage};
use sngp::score::Score;

use super::measured::Measured;
use super::metric_rows::{Place, Told, add, pick};
use crate::evidence::{Evidence, OodSet, Set};

/// Above so many rows only the score the model decides by has intervals: to resample every other
/// one would take minutes.
const EVERY_SCORE: usize = 5_000;

/// OOD sets by their names, measured.
pub(super) type OodSets<'a> = Vec<(String, Measured<'a>)>;

/// A score's values on the test rows and on each OOD set.
struct Values<'a> {
    by: String,
    test: Vec<f64>,
    ood: Vec<(&'a str, Vec<f64>)>,
}

/// Detection by every score the model has, the one it decides by first. `wrong` says which test
/// rows are; numbers are not, and are detected by the model's own score alone.
pub(super) fn by_scores(
    evidence: &mut Evidence,
    test: &Measured<'_>,
    ood: &OodSets<'_>,
    wrong: Option<&[bool]>,
    own: &Score,
) -> Result<()> {
    let mut scores = vec![own.clone()];
    if wrong.is_some() {
        scores.extend(Score::all().into_iter().filter(|score| score.name() != own.name()));
    }
    // A score that needs what the method does not have is not shown for it.
    for score in scores {
        let Some(inside) = test.score(&score)? else { continue };
        let outside =
            ood.iter().map(|(name, set)| Ok(set.score(&score)?.map(|v| (name.as_str(), v))));
        let Some(outside) = outside.collect::<Result<Option<Vec<_>>>>()? else { continue };
        let values = Values { by: score.to_string(), test: inside, ood: outside };
        if let Some(wrong) = wrong {
            misclassification(evidence, Set::Misclassification, &values.by, &values.test, wrong)?;
        }
        out_of_distribution(evidence, &values)?;
        if let Some(wrong) = wrong {
            failure(evidence, &values, wrong)?;
        }
    }
    Ok(())
}

fn resampled(evidence: &Evidence, by: &str, rows: usize) -> bool {
    by == evidence.score || rows <= EVERY_SCORE
}

/// AUROC of what should be rejected and AURC with it as the loss; the AUROC only where there are
/// both kinds.
fn rejection(
    evidence: &mut Evidence,
    place: Place<'_>,
    summaries: [&'static str; 2],
    scores: &[f64],
    reject: &[bool],
) -> Result<()> {
    let by = place.by.unwrap_or_default();
    let both = reject.contains(&true) && reject.contains(&false);
    let mut told = vec![Told::new(format!("aurc by {by}"), summaries[1], Some(false))];
    if both {
        told.insert(0, Told::new(format!("auroc by {by}"), summaries[0], Some(true)));
    }
    let resampled = resampled(evidence, by, scores.len());
    add(evidence, place, told, scores.len(), resampled, |rows| {
        let (scores, reject) = (pick(scores, rows), pick(reject, rows));
        let kept: Vec<bool> = reject.iter().map(|reject| !reject).collect();
        let mut values = vec![risk_coverage(&scores, &kept)?.area()];
        if both {
            values.insert(0, auroc(&scores, &reject)?);
        }
        Ok(values)
    })
}

/// Wrong answers against right ones, on labelled examples.
pub(super) fn misclassification(
    evidence: &mut Evidence,
    set: Set,
    by: &str,
    scores: &[f64],
    wrong: &[bool],
) -> Result<()> {
    let summaries = [
        "chance that a wrong answer is less certain than a right one",
        "area under the risk-coverage curve: mean share of wrong answers over all coverages",
    ];
    rejection(evidence, Place { by: Some(by), ..Place::of(set) }, summaries, scores, wrong)
}

/// OOD examples against test examples: each set where there are several, and all together.
fn out_of_distribution(evidence: &mut Evidence, values: &Values<'_>) -> Result<()> {
    if values.ood.is_empty() {
        return Ok(());
    }
    if values.ood.len() > 1 {
        for (name, outside) in &values.ood {
            detected(evidence, &values.by, Some(name), &values.test, outside)?;
        }
    }
    detected(evidence, &values.by, None, &values.test, &together(values))
}

fn together(values: &Values<'_>) -> Vec<f64> {
    values.ood.iter().flat_map(|(_, scores)| scores).copied().collect()
}

/// What is wrong or OOD against what is right, over test and OOD rows.
fn failure(evidence: &mut Evidence, values: &Values<'_>, wrong: &[bool]) -> Result<()> {
    if values.ood.is_empty() {
        return Ok(());
    }
    let (scores, mut failed) = inside_and_outside(&values.test, &together(values));
    failed.iter_mut().zip(wrong).for_each(|(failed, wrong)| *failed = *wrong);
    let summaries = [
        "chance that a wrong answer or an OOD example is less certain than a right answer",
        "area under the risk-coverage curve where answering an OOD example is an error, too",
    ];
    let place = Place { by: Some(&values.by), ..Place::of(Set::Failure) };
    rejection(evidence, place, summaries, &scores, &failed)
}

fn detected(
    evidence: &mut Evidence,
    by: &str,
    ood: Option<&str>,
    inside: &[f64],
    outside: &[f64],
) -> Result<()> {
    let (scores, is_ood) = inside_and_outside(inside, outside);
    let metrics = Detection::all();
    let told = metrics.iter().map(|metric| {
        let name = format!("{} by {by}", metric.name());
        Told::new(name, metric.summary(), Some(metric.higher_is_better()))
    });
    let place = Place { ood, by: Some(by), ..Place::of(Set::Ood) };
    let resampled = resampled(evidence, by, scores.len());
    add(evidence, place, told.collect(), scores.len(), resampled, |rows| {
        let (scores, is_ood) = (pick(&scores, rows), pick(&is_ood, rows));
        metrics.iter().map(|metric| metric.evaluate(&scores, &is_ood)).collect()
    })
}

/// OOD rows of a model, set by set, into the evidence: the score's values and what admits them.
pub(super) fn add_ood(
    evidence: &mut Evidence,
    score: Option<&Score>,
    ood: &OodSets<'_>,
) -> Result<()> {
    for (name, set) in ood {
        let values = score.map(|score| set.score(score)).transpose()?.flatten();
        let values = values.unwrap_or_else(|| vec![0.0; set.rows.len()]);
        evidence.ood.extend(values);
        let (name, admitted) = (name.clone(), set.admitted.clone());
        evidence.ood_sets.push(OodSet { name, admitted });
    }
    Ok(())
}
