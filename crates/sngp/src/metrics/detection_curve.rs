//! The sweep of a threshold over the scores, from which every detection metric is read off.

use super::{input, rank};
use crate::{Error, Result};

/// What is flagged at one threshold and above.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Flagged {
    pub true_positives: f64,
    pub false_positives: f64,
}

/// How a detector trades misses against false alarms, made by [`detection_curve`].
///
/// One step for each distinct score, from the highest down; the last one flags everything. Tied
/// scores cross the threshold together, so their order in the input cannot matter.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectionCurve {
    pub(super) positives: usize,
    pub(super) negatives: usize,
    /// Counts are kept as f64, which is exact up to 2^53 and spares casts.
    pub(super) steps: Vec<Flagged>,
}

/// Flags inputs from the highest score down, the OOD ones being those to find.
///
/// ```
/// let curve = sngp::metrics::detection_curve(&[0.1, 0.3, 0.2, 0.9], &[false, false, true, true])?;
/// assert_eq!(curve.roc(), [[0.0, 0.0], [0.0, 0.5], [0.5, 0.5], [0.5, 1.0], [1.0, 1.0]]);
/// assert_eq!(curve.precision_recall()[1], [0.5, 0.5]);
/// assert_eq!(curve.auroc(), 0.75);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn detection_curve(scores: &[f64], is_ood: &[bool]) -> Result<DetectionCurve> {
    input::comparable("scores", scores)?;
    input::same_length("is_ood", is_ood.len(), "the scores", scores.len())?;
    let positives = is_ood.iter().filter(|&&ood| ood).count();
    let negatives = is_ood.len() - positives;
    if positives == 0 || negatives == 0 {
        let (only, missing) = match positives {
            0 => ("in-distribution", "OOD"),
            _ => ("OOD", "in-distribution"),
        };
        return Err(Error::Data(format!(
            "all {} examples are {only}; detection needs both kinds: add {missing} examples",
            is_ood.len()
        )));
    }

    let order = rank::ascending(scores);
    let mut flagged = Flagged::default();
    let steps = rank::ties(&order, scores)
        .rev()
        .map(|group| {
            let caught = group.iter().filter(|&&example| is_ood[example]).count();
            flagged.true_positives += caught as f64;
            flagged.false_positives += (group.len() - caught) as f64;
            flagged
        })
        .collect();
    Ok(DetectionCurve { positives, negatives, steps })
}

impl DetectionCurve {
    /// The receiver operating characteristic: points `[share of in-distribution inputs flagged, share of
    /// OOD ones]`, from `[0, 0]` to `[1, 1]`.
    pub fn roc(&self) -> Vec<[f64; 2]> {
        let (positives, negatives) = (self.positives as f64, self.negatives as f64);
        let nothing = std::iter::once(Flagged::default());
        nothing
            .chain(self.steps.iter().copied())
            .map(|now| [now.false_positives / negatives, now.true_positives / positives])
            .collect()
    }

    /// Points `[recall, precision]`, recall ascending to 1.
    pub fn precision_recall(&self) -> Vec<[f64; 2]> {
        let positives = self.positives as f64;
        self.steps.iter().map(|now| [now.true_positives / positives, now.precision()]).collect()
    }

    /// The area under [`roc`](Self::roc), ties counted half: [`auroc`](super::auroc()).
    pub fn auroc(&self) -> f64 {
        // Each in-distribution input newly flagged lost against those flagged before it and drew with
        // those flagged along with it: the trapezoid rule, whose slanted sides count ties half.
        let won = |(before, now): (Flagged, Flagged)| {
            (now.false_positives - before.false_positives)
                * (now.true_positives + before.true_positives)
                / 2.0
        };
        self.pairs().map(won).sum::<f64>() / (self.positives as f64 * self.negatives as f64)
    }

    /// The step sum of precision over recall: [`average_precision`](super::average_precision()).
    pub fn average_precision(&self) -> f64 {
        let step = |(before, now): (Flagged, Flagged)| {
            (now.true_positives - before.true_positives) * now.precision()
        };
        self.pairs().map(step).sum::<f64>() / self.positives as f64
    }

    /// The share of OOD inputs: the precision of chance.
    pub fn base_rate(&self) -> f64 {
        self.positives as f64 / (self.positives + self.negatives) as f64
    }

    /// Each step together with the one before it; before the first, nothing is flagged.
    fn pairs(&self) -> impl Iterator<Item = (Flagged, Flagged)> {
        let before = std::iter::once(Flagged::default()).chain(self.steps.iter().copied());
        before.zip(self.steps.iter().copied())
    }
}

impl Flagged {
    fn precision(self) -> f64 {
        self.true_positives / (self.true_positives + self.false_positives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_one_step() {
        let curve = detection_curve(&[0.0, 0.5, -0.0, 0.5], &[false, true, false, false]).unwrap();
        let half = Flagged { true_positives: 1.0, false_positives: 1.0 };
        let all = Flagged { true_positives: 1.0, false_positives: 3.0 };
        assert_eq!(curve.steps, [half, all]);
    }

    #[test]
    fn one_kind_alone_is_an_error_that_says_which_is_missing() {
        let error = detection_curve(&[0.1, 0.2], &[true, true]).unwrap_err().to_string();
        assert!(error.contains("add in-distribution examples"), "{error}");
        let error = detection_curve(&[0.1, 0.2], &[false, false]).unwrap_err().to_string();
        assert!(error.contains("add OOD examples"), "{error}");
    }

    #[test]
    fn infinite_scores_rank_like_any_other() {
        let curve = detection_curve(&[f64::INFINITY, 1.0, f64::NEG_INFINITY], &[true, true, false]);
        assert_eq!(curve.unwrap().steps.len(), 3);
    }
}
