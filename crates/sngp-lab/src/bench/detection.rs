//! How well inputs of no class are told from others.

use sngp::metrics::Detection;
use sngp::predict::Prediction;
use sngp::score::Score;
use sngp::{Error, Result};

use super::store::Measured;

/// Marks the split of the score that a method is measured by.
pub(super) const DEFAULT: &str = "is_default";

/// The split of what a score tells about strangers.
pub(super) fn by_score(strangers: &str) -> String {
    format!("{strangers} by ")
}

/// Measures how well `strangers` are told from test inputs, by every score; `name` is the split of
/// the method's own one.
pub fn detection(
    name: &str,
    test: &Prediction,
    strangers: &Prediction,
    default: &Score,
    measured: &mut Measured,
) -> Result<()> {
    for score in Score::all() {
        let (inside, outside) = match (score.evaluate(test), score.evaluate(strangers)) {
            (Ok(inside), Ok(outside)) => (inside, outside),
            // A score that needs what the method does not have is not shown for it.
            (Err(Error::Unsupported(_)), _) | (_, Err(Error::Unsupported(_))) => continue,
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        let split = format!("{}{score}", by_score(name));
        if score.name() == default.name() {
            measured.add(&split, DEFAULT, 1.0);
        }
        let strange = |row| row >= inside.len();
        let scores: Vec<f64> = inside.iter().chain(&outside).copied().collect();
        let is_strange: Vec<bool> = (0..scores.len()).map(strange).collect();
        for metric in Detection::all() {
            let value = metric.evaluate(&scores, &is_strange)?;
            if score.name() == default.name() {
                measured.add(name, metric.name(), value);
            }
            measured.add(&split, metric.name(), value);
        }
    }
    Ok(())
}
