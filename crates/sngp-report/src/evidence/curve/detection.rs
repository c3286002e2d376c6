//! OOD detection by the score: OOD examples are the positives, test examples the negatives.

use sngp::metrics::{detection_curve, inside_and_outside};

use super::{Ranked, thin};

/// The finest detail that is drawn, as a share of the plot's side.
const DETAIL: f64 = 0.004;

/// The receiver operating characteristic and the precision-recall curve.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::evidence) struct Detection {
    /// Points `[test examples rejected, OOD examples rejected]`, from none to all.
    pub roc: Vec<[f64; 2]>,
    /// The area under it: the chance that an OOD example is the less certain one.
    pub auroc: f64,
    /// Points `[recall, precision]`, recall ascending.
    pub precision_recall: Vec<[f64; 2]>,
    /// The step sum of precision over recall.
    pub average_precision: f64,
    /// The precision of chance: the share of OOD examples.
    pub base_rate: f64,
}

/// None where either kind is missing, or cannot be ranked.
pub(in crate::evidence) fn detection(test: &Ranked, ood: &Ranked) -> Option<Detection> {
    let (scores, is_ood) = inside_and_outside(test.values(), ood.values());
    let curve = detection_curve(&scores, &is_ood).ok()?;
    let precision_recall = curve.precision_recall();
    // The precision of the first step holds from a recall of zero on.
    let from = precision_recall.first().map(|first| [0.0, first[1]]);
    let precision_recall: Vec<[f64; 2]> = from.into_iter().chain(precision_recall).collect();
    Some(Detection {
        roc: thin(&curve.roc(), DETAIL),
        auroc: curve.auroc(),
        precision_recall: thin(&precision_recall, DETAIL),
        average_precision: curve.average_precision(),
        base_rate: curve.base_rate(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::curve::Row;

    fn ranked(scores: &[f64]) -> Ranked {
        Ranked::new(&scores.iter().map(|&score| Row::ood(score, true)).collect::<Vec<_>>())
    }

    fn found(test: &[f64], ood: &[f64]) -> Detection {
        detection(&ranked(test), &ranked(ood)).unwrap()
    }

    #[test]
    fn separable_scores_are_perfect() {
        let found = found(&[0.1, 0.2, 0.3], &[0.8, 0.9]);
        assert_eq!((found.auroc, found.average_precision), (1.0, 1.0));
        assert_eq!(found.base_rate, 0.4);
    }

    #[test]
    fn constant_scores_are_chance() {
        let found = found(&[0.5; 3], &[0.5]);
        assert_eq!((found.auroc, found.average_precision), (0.5, 0.25));
        assert_eq!(found.roc, [[0.0, 0.0], [1.0, 1.0]]);
        assert_eq!(found.precision_recall, [[0.0, 0.25], [1.0, 0.25]]);
    }

    #[test]
    fn one_kind_alone_has_no_curve() {
        let (some, none) = (ranked(&[0.5]), ranked(&[]));
        assert_eq!(detection(&some, &none), None);
        assert_eq!(detection(&none, &some), None);
    }

    #[test]
    fn what_cannot_be_ranked_has_no_curve() {
        let unranked = ranked(&[f64::NAN, 0.1]);
        assert_eq!(detection(&unranked, &ranked(&[0.5])), None);
    }
}
