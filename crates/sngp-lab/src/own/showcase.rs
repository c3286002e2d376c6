//! What is shown of single classes and examples.

use sngp::Result;
use sngp::predict::Prediction;

use super::dataset::{Body, Dataset};
use super::model::OwnModel;
use super::recipe::Recipe;
use crate::evidence::{ClassRow, Content, Evidence, Example};

/// Examples that are shown of each kind.
const SHOWN: usize = 12;
/// Height and width of the largest thumbnail.
const THUMBNAIL: u32 = 128;

/// How each class fares.
pub(super) fn class_rows(
    prediction: &Prediction,
    labels: &[usize],
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
    let found = prediction.labels()?;
    for ((&label, found), row) in labels.iter().zip(found).zip(&evidence.test) {
        counts[found].predicted += 1;
        let own = &mut counts[label];
        own.rows += 1;
        own.right += usize::from(found == label);
        own.probability += row.probability;
        let turned_away = evidence.threshold.is_some_and(|limit| row.uncertainty > limit);
        own.abstained += usize::from(turned_away);
    }
    let share = |part: f64, whole: usize| if whole == 0 { 0.0 } else { part / whole as f64 };
    let row = |(count, name): (&Count, &String)| {
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
        }
    };
    Ok(counts.iter().zip(names).filter(|(count, _)| count.rows > 0).map(row).collect())
}

/// The most uncertain and the most confidently wrong examples.
pub(super) fn examples(
    evidence: &mut Evidence,
    model: &OwnModel,
    set: &Dataset,
    prediction: &Prediction,
    labels: &[usize],
) -> Result<()> {
    let names = model.any().labels();
    let found = prediction.labels()?;
    let example = |row: usize| Example {
        row: row + 1,
        content: content(model, set, row),
        truth: names[labels[row]].clone(),
        predicted: names[found[row]].clone(),
        probability: evidence.test[row].probability,
        uncertainty: evidence.test[row].uncertainty,
    };
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|&a, &b| evidence.test[b].uncertainty.total_cmp(&evidence.test[a].uncertainty));
    let uncertain: Vec<Example> = order.iter().take(SHOWN).map(|&row| example(row)).collect();
    order.retain(|&row| !evidence.test[row].correct);
    order.sort_by(|&a, &b| evidence.test[b].probability.total_cmp(&evidence.test[a].probability));
    let wrong = order.iter().take(SHOWN).map(|&row| example(row)).collect();
    (evidence.uncertain, evidence.wrong) = (uncertain, wrong);
    Ok(())
}

/// What the model saw of a row, to be shown.
fn content(model: &OwnModel, set: &Dataset, row: usize) -> Content {
    let Body::Rows { names, rows } = &set.body else {
        return Content::Cells(vec![("row".to_string(), (row + 1).to_string())]);
    };
    let recipe = &model.card.recipe;
    let place = |column: &str| names.iter().position(|name| name == column);
    match recipe {
        Recipe::Ngrams(_) | Recipe::Sentences { .. } => {
            let text = place(recipe.columns()[0]).map(|place| rows[row][place].to_field());
            Content::Text(text.unwrap_or_default().into_owned())
        }
        Recipe::Images(images) => {
            let path = place(&images.column).map(|place| rows[row][place].to_field());
            let path = set.folder.join(path.unwrap_or_default().as_ref());
            thumbnail(&path).map_or_else(|| Content::Text(path.display().to_string()), Content::Png)
        }
        _ => {
            let cell = |column: &&str| {
                let place = place(column)?;
                Some((column.to_string(), rows[row][place].to_field().into_owned()))
            };
            Content::Cells(recipe.columns().iter().filter_map(cell).collect())
        }
    }
}

fn thumbnail(path: &std::path::Path) -> Option<Vec<u8>> {
    let image = image::open(path).ok()?.thumbnail(THUMBNAIL, THUMBNAIL);
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, image::ImageFormat::Png).ok()?;
    Some(bytes.into_inner())
}
