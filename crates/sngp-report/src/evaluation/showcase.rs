//! What is shown of single classes and examples.

use std::collections::BTreeMap;

use sngp::Result;
use sngp::model::Outcome;
use sngp::predict::Predictive;
use sngp_pipeline::Pipeline;
use sngp_pipeline::calibrate::class_coverage;
use sngp_pipeline::input::{Body, Dataset, Preparation};
use sngp_records::image::Picture;

use super::classes::Labelled;
use super::detection::OodSets;
use super::numbers::moments;
use crate::evidence::{ClassRow, Confusion, Content, Evidence, Example, Scored, Truth};

/// Examples that are shown of each kind, and pairs of classes.
const SHOWN: usize = 12;
/// Height and width of the largest thumbnail.
const THUMBNAIL: u32 = 128;

/// How each class fares.
pub(super) fn class_rows(
    test: &Labelled<'_>,
    names: &[String],
    evidence: &Evidence,
) -> Result<Vec<ClassRow>> {
    #[derive(Default, Clone)]
    struct Count {
        rows: usize,
        right: usize,
        predicted: usize,
        probability: f64,
        abstained: usize,
    }
    let mut counts = vec![Count::default(); names.len()];
    let found = test.measured.prediction.labels()?;
    for ((&label, found), row) in test.classes.iter().zip(found).zip(&evidence.test) {
        counts[found].predicted += 1;
        let own = &mut counts[label];
        own.rows += 1;
        own.right += usize::from(found == label);
        own.probability += row.probability;
        own.abstained += usize::from(!evidence.accepts(row.uncertainty, row.admitted));
    }
    let judged = |row: &Scored| Outcome {
        uncertainty: if row.admitted { row.uncertainty } else { f64::INFINITY },
        correct: row.correct,
    };
    let judged: Vec<Outcome> = evidence.test.iter().map(judged).collect();
    let limit = evidence.threshold.unwrap_or(f64::MAX);
    let mut thresholds = class_coverage(names, &test.classes, &judged, limit).into_iter();
    let share = |part: f64, whole: usize| if whole == 0 { 0.0 } else { part / whole as f64 };
    let mut row = |(count, name): (&Count, &String)| {
        let recall = share(count.right as f64, count.rows);
        let precision = share(count.right as f64, count.predicted);
        let sum = recall + precision;
        ClassRow {
            label: name.clone(),
            rows: count.rows,
            recall,
            precision,
            f1: if sum > 0.0 { 2.0 * recall * precision / sum } else { 0.0 },
            mean_probability: share(count.probability, count.rows),
            abstained: share(count.abstained as f64, count.rows),
            threshold: thresholds.next().and_then(|class| class.threshold),
        }
    };
    Ok(counts.iter().zip(names).filter(|(count, _)| count.rows > 0).map(&mut row).collect())
}

/// The pairs of classes that are confused most often.
pub(super) fn confusions(
    test: &Labelled<'_>,
    names: &[String],
    evidence: &Evidence,
) -> Result<Vec<Confusion>> {
    let mut counts: BTreeMap<(usize, usize), [usize; 2]> = BTreeMap::new();
    let found = test.measured.prediction.labels()?;
    for ((&label, found), row) in test.classes.iter().zip(found).zip(&evidence.test) {
        if found != label {
            let [count, accepted] = counts.entry((label, found)).or_default();
            *count += 1;
            *accepted += usize::from(evidence.accepts(row.uncertainty, row.admitted));
        }
    }
    let pair = |((label, found), [count, accepted]): ((usize, usize), [usize; 2])| Confusion {
        truth: names[label].clone(),
        predicted: names[found].clone(),
        count,
        accepted,
    };
    let mut pairs: Vec<Confusion> = counts.into_iter().map(pair).collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.count));
    pairs.truncate(SHOWN);
    Ok(pairs)
}

/// The most uncertain and the most confidently wrong examples.
pub(super) fn examples(
    evidence: &mut Evidence,
    model: &Pipeline,
    test: &Labelled<'_>,
) -> Result<()> {
    let names = model.labels();
    let found = test.measured.prediction.labels()?;
    let example = |place: usize| {
        let row = test.measured.rows[place];
        Example {
            row: row + 1,
            content: content(model, test.measured.set, row),
            truth: Truth::Label(names[test.classes[place]].clone()),
            predicted: names[found[place]].clone(),
            probability: evidence.test[place].probability,
            uncertainty: evidence.test[place].uncertainty,
        }
    };
    let mut order: Vec<usize> = (0..test.classes.len()).collect();
    order.sort_by(|&a, &b| evidence.test[b].uncertainty.total_cmp(&evidence.test[a].uncertainty));
    let uncertain: Vec<Example> = order.iter().take(SHOWN).map(|&row| example(row)).collect();
    order.retain(|&row| !evidence.test[row].correct);
    order.sort_by(|&a, &b| evidence.test[b].probability.total_cmp(&evidence.test[a].probability));
    let wrong = order.iter().take(SHOWN).map(|&row| example(row)).collect();
    (evidence.uncertain, evidence.wrong) = (uncertain, wrong);
    Ok(())
}

/// The most certain OOD examples that are accepted.
pub(super) fn accepted_ood(
    evidence: &Evidence,
    model: &Pipeline,
    ood: &OodSets<'_>,
) -> Result<Vec<Example>> {
    // Set by set, as the evidence has them: which set, which of its rows, how uncertain.
    let places = ood.iter().enumerate().flat_map(|(set, (_, measured))| {
        measured.admitted.iter().enumerate().map(move |(row, admitted)| (set, row, *admitted))
    });
    let mut accepted: Vec<(usize, usize, f64)> = places
        .zip(&evidence.ood)
        .filter(|((_, _, admitted), uncertainty)| evidence.accepts(**uncertainty, *admitted))
        .map(|((set, row, _), uncertainty)| (set, row, *uncertainty))
        .collect();
    accepted.sort_by(|a, b| a.2.total_cmp(&b.2));
    accepted.truncate(SHOWN);
    let predicted =
        ood.iter().map(|(_, set)| outcomes(model, &set.prediction)).collect::<Result<Vec<_>>>()?;
    let example = |(set, place, uncertainty): (usize, usize, f64)| {
        let (name, measured) = &ood[set];
        let row = measured.rows[place];
        let (predicted, probability) = predicted[set][place].clone();
        Example {
            row: row + 1,
            content: content(model, measured.set, row),
            truth: Truth::Ood(name.clone()),
            predicted,
            probability,
            uncertainty,
        }
    };
    Ok(accepted.into_iter().map(example).collect())
}

/// What is predicted for each row, in words, and the probability of that; 1 for a number, which
/// has none.
fn outcomes(
    model: &Pipeline,
    prediction: &sngp::predict::Prediction,
) -> Result<Vec<(String, f64)>> {
    if let Predictive::Classes(_) = &prediction.predictive {
        let probabilities = prediction.stated_probabilities()?;
        let names = model.labels();
        let found = prediction.labels()?.into_iter().enumerate();
        return Ok(found
            .map(|(row, class)| (names[class].clone(), probabilities[[row, class]]))
            .collect());
    }
    let (means, _) = moments(model, prediction)?;
    Ok(means.into_iter().map(|mean| (format!("{mean:.4}"), 1.0)).collect())
}

/// What the model saw of a row, to be shown.
fn content(model: &Pipeline, set: &Dataset, row: usize) -> Content {
    let (names, rows) = match &set.body {
        Body::Rows { names, rows } => (names, rows),
        Body::Pictures { pictures, .. } => {
            return Content::Png(pictures[row].thumbnail_png(THUMBNAIL));
        }
        Body::Vectors { .. } => {
            return Content::Cells(vec![("row".to_string(), (row + 1).to_string())]);
        }
    };
    let preparation = &model.card().preparation;
    let place = |column: &str| names.iter().position(|name| name == column);
    match preparation {
        _ if preparation.takes_text() => {
            let text = place(preparation.columns()[0]).map(|place| rows[row][place].to_field());
            Content::Text(text.unwrap_or_default().into_owned())
        }
        Preparation::Images(_) | Preparation::Encoded(_) => {
            let path = place(preparation.columns()[0]).map(|place| rows[row][place].to_field());
            let path = set.folder.join(path.unwrap_or_default().as_ref());
            thumbnail(&path).map_or_else(|| Content::Text(path.display().to_string()), Content::Png)
        }
        _ => {
            let cell = |column: &&str| {
                let place = place(column)?;
                Some((column.to_string(), rows[row][place].to_field().into_owned()))
            };
            Content::Cells(preparation.columns().iter().filter_map(cell).collect())
        }
    }
}

fn thumbnail(path: &std::path::Path) -> Option<Vec<u8>> {
    Picture::read(path).ok().map(|picture| picture.thumbnail_png(THUMBNAIL))
}
