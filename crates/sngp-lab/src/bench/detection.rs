//! How well OOD inputs, mistakes, and both together are detected.

use sngp::metrics::{Detection, inside_and_outside, risk_coverage};
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

/// The split of misclassification detection: wrong answers among right ones.
pub const MISTAKES: &str = "mistakes";

/// Measures how well OOD inputs are detected among test inputs, by every score; `name` is the split of
/// the method's own one.
pub fn detection(
    name: &str,
    test: &Prediction,
    ood: &Prediction,
    default: &Score,
    measured: &mut Measured,
) -> Result<()> {
    by_every(name, default, measured, |score| {
        Ok(inside_and_outside(&score.evaluate(test)?, &score.evaluate(ood)?))
    })
}

/// Measures how well wrong answers are detected among right ones, by every score. Nothing is measured
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

/// The split of failure detection with an OOD set: what is wrong or OOD among right answers.
pub fn failure_with(ood: &str) -> String {
    format!("failure with {ood}")
}

/// Measures how well wrong answers and OOD inputs are detected among right answers, by every score.
/// Nothing is measured where no answer is right.
pub fn failures(
    name: &str,
    test: &Prediction,
    labels: &[usize],
    ood: &Prediction,
    default: &Score,
    measured: &mut Measured,
) -> Result<()> {
    let mut failed: Vec<bool> = test.labels()?.iter().zip(labels).map(|(a, b)| a != b).collect();
    if !failed.contains(&false) {
        return Ok(());
    }
    failed.resize(test.rows() + ood.rows(), true);
    by_every(&failure_with(name), default, measured, |score| {
        let (scores, _) = inside_and_outside(&score.evaluate(test)?, &score.evaluate(ood)?);
        Ok((scores, failed.clone()))
    })
}

/// Measures every score on what `sort` gives for it: its values, and which of them should be high.
/// `aurc` is the area under the risk-coverage curve with those as the errors.
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
        let is_low: Vec<bool> = is_high.iter().map(|high| !high).collect();
        let mut figures = vec![("aurc", risk_coverage(&scores, &is_low)?.area())];
        for metric in Detection::all() {
            figures.push((metric.name(), metric.evaluate(&scores, &is_high)?));
        }
        for (metric, value) in figures {
            if score.name() == default.name() {
                measured.add(name, metric, value);
            }
            measured.add(&split, metric, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use sngp::predict::Predictive;
    use sngp::score::MaxProbability;

    use super::*;

    /// Four answers for class 0, ever less certain.
    fn prediction() -> Prediction {
        Prediction {
            predictive: Predictive::Classes(array![[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]]),
            logits: array![[2.2, 0.0], [1.4, 0.0], [0.8, 0.0], [0.4, 0.0]],
            variance: None,
            mean_field_factor: 0.0,
            hidden: None,
            detectors: None,
            combination: None,
        }
    }

    fn value(measured: &Measured, split: &str, metric: &str) -> Option<f64> {
        let mut figures = measured.figures.iter();
        Some(figures.find(|figure| figure.split == split && figure.metric == metric)?.value)
    }

    #[test]
    fn mistakes_are_what_should_be_uncertain() {
        let of = |labels: &[usize]| {
            let mut measured = Measured::default();
            let default = Score::from(MaxProbability {});
            mistakes(&prediction(), labels, &default, &mut measured).unwrap();
            measured
        };
        let last_wrong = of(&[0, 0, 0, 1]);
        assert_eq!(value(&last_wrong, MISTAKES, "auroc"), Some(1.0));
        assert_eq!(value(&last_wrong, "mistakes by entropy", "auroc"), Some(1.0));
        assert_eq!(value(&of(&[1, 0, 0, 0]), MISTAKES, "auroc"), Some(0.0));
        assert_eq!(value(&last_wrong, "mistakes by max_probability", DEFAULT), Some(1.0));
        assert_eq!(value(&last_wrong, "mistakes by entropy", DEFAULT), None);
        // No variance: nothing is said of it.
        assert_eq!(value(&last_wrong, "mistakes by variance", "auroc"), None);
        // There is nothing to tell apart.
        assert_eq!(of(&[0; 4]).figures, []);
        assert_eq!(of(&[1; 4]).figures, []);
    }

    #[test]
    fn ood_inputs_are_what_should_be_uncertain() {
        let mut ood = prediction();
        ood.predictive = Predictive::Classes(ndarray::Array2::from_elem((3, 2), 0.5));
        let (mut measured, default) = (Measured::default(), Score::from(MaxProbability {}));
        detection("zoo", &prediction(), &ood, &default, &mut measured).unwrap();
        assert_eq!(value(&measured, "zoo", "auroc"), Some(1.0));
    }

    #[test]
    fn failures_are_mistakes_and_ood_inputs_alike() {
        let mut ood = prediction();
        ood.predictive = Predictive::Classes(ndarray::Array2::from_elem((4, 2), 0.5));
        let default = Score::from(MaxProbability {});
        let of = |labels: &[usize]| {
            let mut measured = Measured::default();
            failures("zoo", &prediction(), labels, &ood, &default, &mut measured).unwrap();
            measured
        };
        let last_wrong = of(&[0, 0, 0, 1]);
        assert_eq!(value(&last_wrong, "failure with zoo", "auroc"), Some(1.0));
        // Three right answers come first, then five failures: 1/4, 2/5, .. of 8 rows.
        let area = (4..=8).map(|kept| f64::from(kept - 3) / f64::from(kept)).sum::<f64>() / 8.0;
        let found = value(&last_wrong, "failure with zoo", "aurc").unwrap();
        assert!((found - area).abs() < 1e-12, "{found} {area}");
        // The most certain one is wrong: it comes before the three right ones.
        let auroc = value(&of(&[1, 0, 0, 0]), "failure with zoo", "auroc").unwrap();
        assert!((auroc - 4.0 / 5.0).abs() < 1e-12, "{auroc}");
        assert_eq!(of(&[1; 4]).figures, []);
    }
}
