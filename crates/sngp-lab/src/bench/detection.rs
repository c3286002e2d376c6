//! How well inputs of no class, and mistakes, are told from others.

use sngp::metrics::Detection;
use sngp::predict::Prediction;
use sngp::score::Score;
use sngp::{Error, Result};

use super::store::Measured;

/// Marks the split of the score that a method is measured by.
pub(super) const DEFAULT: &str = "is_default";

/// The beginning of the split of what a score tells.
pub(super) fn by_score(of: &str) -> String {
    format!("{of} by ")
}

/// The split of wrong answers, told from right ones.
pub const MISTAKES: &str = "mistakes";

/// Measures how well `strangers` are told from test inputs, by every score; `name` is the split of
/// the method's own one.
pub fn detection(
    name: &str,
    test: &Prediction,
    strangers: &Prediction,
    default: &Score,
    measured: &mut Measured,
) -> Result<()> {
    by_every(name, default, measured, |score| {
        let (inside, outside) = (score.evaluate(test)?, score.evaluate(strangers)?);
        let is_strange = (0..inside.len() + outside.len()).map(|row| row >= inside.len());
        Ok((inside.iter().chain(&outside).copied().collect(), is_strange.collect()))
    })
}

/// Measures how well wrong answers are told from right ones, by every score. Nothing is measured
/// where all are right or all are wrong.
pub fn mistakes(
    test: &Prediction,
    labels: &[usize],
    default: &Score,
    measured: &mut Measured,
) -> Result<()> {
    let is_wrong: Vec<bool> = test.labels()?.iter().zip(labels).map(|(a, b)| a != b).collect();
    if !(is_wrong.contains(&true) && is_wrong.contains(&false)) {
        return Ok(());
    }
    by_every(MISTAKES, default, measured, |score| Ok((score.evaluate(test)?, is_wrong.clone())))
}

/// Measures every score on what `sort` gives for it: its values, and which of them should be high.
fn by_every(
    name: &str,
    default: &Score,
    measured: &mut Measured,
    sort: impl Fn(&Score) -> Result<(Vec<f64>, Vec<bool>)>,
) -> Result<()> {
    for score in Score::all() {
        let (scores, is_high) = match sort(&score) {
            // A score that needs what the method does not have is not shown for it.
            Err(Error::Unsupported(_)) => continue,
            sorted => sorted?,
        };
        let split = format!("{}{score}", by_score(name));
        if score.name() == default.name() {
            measured.add(&split, DEFAULT, 1.0);
        }
        for metric in Detection::all() {
            let value = metric.evaluate(&scores, &is_high)?;
            if score.name() == default.name() {
                measured.add(name, metric.name(), value);
            }
            measured.add(&split, metric.name(), value);
        }
    }
    Ok(())
}
