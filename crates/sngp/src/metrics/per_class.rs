//! Accuracy and F1 where every class counts the same, however rare it is.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{ClassificationMetric, input};
use crate::Result;

/// What became of one class.
#[derive(Clone, Copy, Default)]
struct Count {
    rows: usize,
    predicted: usize,
    right: usize,
}

/// The counts of every class, predicted by the most probable one.
fn counts(probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<Vec<Count>> {
    input::probabilities(probabilities, labels)?;
    let mut counts = vec![Count::default(); probabilities.ncols()];
    for (row, &label) in probabilities.outer_iter().zip(labels) {
        let found = input::top(row).0;
        counts[label].rows += 1;
        counts[found].predicted += 1;
        counts[found].right += usize::from(found == label);
    }
    Ok(counts)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// The mean over classes of the share of their examples that is recognized. Classes without an
/// example do not count, as in scikit-learn.
///
/// ```
/// // Three of four are right, but the rare class is never found.
/// let probabilities = ndarray::array![[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]];
/// assert_eq!(sngp::metrics::balanced_accuracy(probabilities.view(), &[0, 0, 0, 1])?, 0.5);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn balanced_accuracy(probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
    let counts = counts(probabilities, labels)?;
    let present = counts.iter().filter(|class| class.rows > 0);
    Ok(mean(present.map(|class| class.right as f64 / class.rows as f64)))
}

/// The mean over classes of F1, the harmonic mean of precision and recall. Classes that neither
/// have an example nor are ever predicted do not count, as in scikit-learn.
///
/// ```
/// let probabilities = ndarray::array![[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]];
/// // The first class has a recall of 1 and a precision of 1/2, the second the other way round.
/// let f1 = sngp::metrics::macro_f1(probabilities.view(), &[0, 1, 1])?;
/// assert!((f1 - (2.0 / 3.0 + 2.0 / 3.0) / 2.0).abs() < 1e-15);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn macro_f1(probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
    let counts = counts(probabilities, labels)?;
    let known = counts.iter().filter(|class| class.rows + class.predicted > 0);
    Ok(mean(known.map(|class| 2.0 * class.right as f64 / (class.rows + class.predicted) as f64)))
}

/// [`balanced_accuracy`], as an entry of [`Classification`](super::Classification).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BalancedAccuracy;

impl ClassificationMetric for BalancedAccuracy {
    fn summary(&self) -> &'static str {
        "mean over classes of the share of their examples that is recognized"
    }

    fn higher_is_better(&self) -> bool {
        true
    }

    fn evaluate(&self, probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
        balanced_accuracy(probabilities, labels)
    }
}

/// [`macro_f1`], as an entry of [`Classification`](super::Classification).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MacroF1;

impl ClassificationMetric for MacroF1 {
    fn summary(&self) -> &'static str {
        "mean over classes of F1, the harmonic mean of precision and recall"
    }

    fn higher_is_better(&self) -> bool {
        true
    }

    fn evaluate(&self, probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
        macro_f1(probabilities, labels)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    /// Certain predictions of these classes.
    fn certain(found: &[usize], classes: usize) -> Array2<f64> {
        Array2::from_shape_fn(
            (found.len(), classes),
            |(row, class)| {
                if found[row] == class { 1.0 } else { 0.0 }
            },
        )
    }

    #[test]
    fn a_worked_example() {
        // balanced_accuracy_score and f1_score(average="macro"), by their definitions.
        let (labels, found) = ([0, 0, 0, 1, 1, 2, 2, 2], [0, 0, 1, 1, 2, 2, 2, 0]);
        let probabilities = certain(&found, 3);
        let recall = (2.0 / 3.0 + 1.0 / 2.0 + 2.0 / 3.0) / 3.0;
        let f1 = (4.0 / 6.0 + 2.0 / 4.0 + 4.0 / 6.0) / 3.0;
        assert!((balanced_accuracy(probabilities.view(), &labels).unwrap() - recall).abs() < 1e-15);
        assert!((macro_f1(probabilities.view(), &labels).unwrap() - f1).abs() < 1e-15);
    }

    #[test]
    fn absent_classes_do_not_count_and_wrongly_predicted_ones_do() {
        let right = certain(&[0, 1], 5);
        assert_eq!(balanced_accuracy(right.view(), &[0, 1]).unwrap(), 1.0);
        assert_eq!(macro_f1(right.view(), &[0, 1]).unwrap(), 1.0);
        // The third class has no example: F1 counts it with 0, recall leaves it out.
        let strayed = array![[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        assert_eq!(balanced_accuracy(strayed.view(), &[0, 1]).unwrap(), 0.5);
        assert!((macro_f1(strayed.view(), &[0, 1]).unwrap() - 1.0 / 3.0).abs() < 1e-15);
    }
}
