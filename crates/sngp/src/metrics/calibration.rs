//! Calibration: the reliability diagram and the expected calibration error.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{ClassificationMetric, input};
use crate::{Error, Result};

/// More bins than this say nothing about calibration; a typing error should not fill the memory.
const MAX_BINS: usize = 10_000;

/// One bar of a reliability diagram: the examples whose top probability lies in
/// `[lower, upper)`. The last bin includes its upper edge, 1.
///
/// ```
/// let bins = sngp::metrics::reliability(ndarray::array![[0.8, 0.2]].view(), &[0], 2)?;
/// assert_eq!((bins[0].count, bins[1].count), (0, 1));
/// assert_eq!((bins[1].confidence, bins[1].accuracy), (0.8, 1.0));
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Lower edge, included.
    pub lower: f64,
    /// Upper edge, excluded except in the last bin.
    pub upper: f64,
    /// How many examples fell in. When none did, confidence and accuracy are 0.
    pub count: usize,
    /// Their mean top probability.
    pub confidence: f64,
    /// The share of them that was right.
    pub accuracy: f64,
}

/// The reliability diagram: `bins` equal-width bins of the top probability over [0, 1].
///
/// A calibrated model is right as often as it is confident, in every bin.
///
/// ```
/// let probabilities = ndarray::array![[0.9, 0.1], [0.3, 0.7]];
/// let bins = sngp::metrics::reliability(probabilities.view(), &[0, 1], 15)?;
/// assert_eq!(bins.len(), 15);
/// assert_eq!(bins.iter().map(|bin| bin.count).sum::<usize>(), 2);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn reliability(
    probabilities: ArrayView2<'_, f64>,
    labels: &[usize],
    bins: usize,
) -> Result<Vec<Bin>> {
    if !(1..=MAX_BINS).contains(&bins) {
        return Err(Error::config("bins", bins, format!("it has to be from 1 to {MAX_BINS}")));
    }
    input::probabilities(probabilities, labels)?;

    let edge = |index: usize| index as f64 / bins as f64;
    let mut diagram: Vec<Bin> = (0..bins)
        .map(|index| Bin {
            lower: edge(index),
            upper: edge(index + 1),
            count: 0,
            confidence: 0.0,
            accuracy: 0.0,
        })
        .collect();

    for (row, &label) in probabilities.outer_iter().zip(labels) {
        let (class, confidence) = input::top(row);
        // Searched, not `floor(confidence * bins)`: the product rounds, and an example could
        // land beside the bin whose printed edges enclose it.
        let index = diagram[1..].partition_point(|bin| bin.lower <= confidence);
        let bin = &mut diagram[index];
        bin.count += 1;
        bin.confidence += confidence.min(1.0);
        bin.accuracy += if class == label { 1.0 } else { 0.0 };
    }

    for bin in diagram.iter_mut().filter(|bin| bin.count > 0) {
        bin.confidence /= bin.count as f64;
        bin.accuracy /= bin.count as f64;
    }
    Ok(diagram)
}

/// Expected calibration error: the mean over examples of `|accuracy - confidence|` of the
/// [`reliability`] bin each falls in. Between 0 and 1.
///
/// ```
/// let ece = sngp::metrics::ece(ndarray::array![[0.75, 0.25]].view(), &[0], 15)?;
/// assert_eq!(ece, 0.25);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn ece(probabilities: ArrayView2<'_, f64>, labels: &[usize], bins: usize) -> Result<f64> {
    Ok(calibration_error(&reliability(probabilities, labels, bins)?))
}

/// The mean gap between confidence and accuracy of a [`reliability`] diagram, each bin weighted by
/// its examples. Zero when there are none.
///
/// ```
/// use sngp::metrics::{calibration_error, reliability};
///
/// let bins = reliability(ndarray::array![[0.75, 0.25], [0.4, 0.6]].view(), &[0, 0], 15)?;
/// assert!((calibration_error(&bins) - (0.25 + 0.6) / 2.0).abs() < 1e-12);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn calibration_error(diagram: &[Bin]) -> f64 {
    let examples: usize = diagram.iter().map(|bin| bin.count).sum();
    let gaps = diagram.iter().map(|bin| bin.count as f64 * (bin.accuracy - bin.confidence).abs());
    gaps.sum::<f64>() / examples.max(1) as f64
}

/// [`ece`], as an entry of [`Classification`](super::Classification).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ece {
    /// How many equal-width bins; 15 by default.
    pub bins: usize,
}

impl Default for Ece {
    fn default() -> Self {
        Self { bins: 15 }
    }
}

impl ClassificationMetric for Ece {
    fn summary(&self) -> &'static str {
        "expected calibration error: gap between confidence and accuracy"
    }

    fn higher_is_better(&self) -> bool {
        false
    }

    fn evaluate(&self, probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
        ece(probabilities, labels, self.bins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_the_bin_above_and_one_to_the_last() {
        let rows = ndarray::array![[0.5, 0.5], [1.0, 0.0], [0.75, 0.25]];
        let bins = reliability(rows.view(), &[0, 0, 0], 4).unwrap();
        assert_eq!(bins.iter().map(|bin| bin.count).collect::<Vec<_>>(), [0, 0, 1, 2]);
        assert_eq!((bins[2].lower, bins[2].upper), (0.5, 0.75));
    }

    #[test]
    fn every_bin_encloses_its_edge_for_any_number_of_bins() {
        for bins in 1..200 {
            for index in bins / 2 + 1..bins {
                let confidence = index as f64 / bins as f64;
                let row = ndarray::array![[confidence, 1.0 - confidence]];
                assert_eq!(reliability(row.view(), &[0], bins).unwrap()[index].count, 1);
            }
        }
    }

    #[test]
    fn no_bins_and_absurdly_many_are_refused() {
        let row = ndarray::array![[0.5, 0.5]];
        for bins in [0, usize::MAX] {
            let error = ece(row.view(), &[0], bins).unwrap_err();
            assert!(matches!(error, Error::Config { what: "bins", .. }), "{error}");
        }
    }
}
