//! The sweep of a threshold over the scores, from which every detection metric is read off.

use super::{input, rank};
use crate::{Error, Result};

/// What is flagged at one threshold and above.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Flagged {
    pub true_positives: f64,
    pub false_positives: f64,
}

/// One step for each distinct score, from the highest down; the last one flags everything.
///
/// Tied scores cross the threshold together, so their order in the input cannot matter. Counts
/// are kept as f64, which is exact up to 2^53 and spares casts.
#[derive(Debug)]
pub(super) struct Sweep {
    pub positives: usize,
    pub negatives: usize,
    pub steps: Vec<Flagged>,
}

impl Sweep {
    pub fn new(scores: &[f64], is_ood: &[bool]) -> Result<Self> {
        input::comparable("scores", scores)?;
        input::same_length("is_ood", is_ood.len(), "the scores", scores.len())?;
        let positives = is_ood.iter().filter(|&&ood| ood).count();
        let negatives = is_ood.len() - positives;
        if positives == 0 || negatives == 0 {
            let (only, missing) = match positives {
                0 => ("in-domain", "out-of-domain"),
                _ => ("out-of-domain", "in-domain"),
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
        Ok(Self { positives, negatives, steps })
    }

    /// Each step together with the one before it; before the first, nothing is flagged.
    pub fn pairs(&self) -> impl Iterator<Item = (Flagged, Flagged)> {
        let before = std::iter::once(Flagged::default()).chain(self.steps.iter().copied());
        before.zip(self.steps.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_one_step() {
        let sweep = Sweep::new(&[0.0, 0.5, -0.0, 0.5], &[false, true, false, false]).unwrap();
        let half = Flagged { true_positives: 1.0, false_positives: 1.0 };
        let all = Flagged { true_positives: 1.0, false_positives: 3.0 };
        assert_eq!(sweep.steps, [half, all]);
    }

    #[test]
    fn one_kind_alone_is_an_error_that_says_which_is_missing() {
        let error = Sweep::new(&[0.1, 0.2], &[true, true]).unwrap_err().to_string();
        assert!(error.contains("add in-domain examples"), "{error}");
        let error = Sweep::new(&[0.1, 0.2], &[false, false]).unwrap_err().to_string();
        assert!(error.contains("add out-of-domain examples"), "{error}");
    }

    #[test]
    fn infinite_scores_rank_like_any_other() {
        let sweep = Sweep::new(&[f64::INFINITY, 1.0, f64::NEG_INFINITY], &[true, true, false]);
        assert_eq!(sweep.unwrap().steps.len(), 3);
    }
}
