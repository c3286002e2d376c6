//! How well the score tells out-of-domain examples, the positives, from test examples.

use super::{Ranked, thin};

/// The finest detail that is drawn, as a share of the plot's side.
const DETAIL: f64 = 0.004;

/// The receiver operating characteristic and the precision-recall curve.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::evidence) struct Detection {
    /// Points `[in-domain turned away, out-of-domain turned away]`, from none to all.
    pub roc: Vec<[f64; 2]>,
    /// The area under it: the chance that an out-of-domain example is the less certain one.
    pub auroc: f64,
    /// Points `[recall, precision]`, recall ascending.
    pub precision_recall: Vec<[f64; 2]>,
    /// The step sum of precision over recall.
    pub average_precision: f64,
    /// The precision of chance: the share of out-of-domain examples.
    pub base_rate: f64,
}

/// None where either kind is missing.
pub(in crate::evidence) fn detection(test: &Ranked, ood: &Ranked) -> Option<Detection> {
    let (negatives, positives) = (test.values().len(), ood.values().len());
    if negatives == 0 || positives == 0 {
        return None;
    }
    let turned = turned_away(test.values(), ood.values());
    let share = |part: usize, whole: usize| part as f64 / whole as f64;
    let roc: Vec<[f64; 2]> = std::iter::once([0, 0])
        .chain(turned.iter().copied())
        .map(|[negative, positive]| [share(negative, negatives), share(positive, positives)])
        .collect();
    let precision_recall: Vec<[f64; 2]> = turned
        .iter()
        .map(|&[negative, positive]| {
            [share(positive, positives), share(positive, negative + positive)]
        })
        .collect();
    let auroc = roc.windows(2).map(|pair| trapezoid(pair[0], pair[1])).sum();
    let mut recall = 0.0;
    let average_precision = precision_recall
        .iter()
        .map(|&[now, precision]| (now - std::mem::replace(&mut recall, now)) * precision)
        .sum();
    // The precision of the first step holds from a recall of zero on.
    let from = precision_recall.first().map(|first| [0.0, first[1]]);
    let precision_recall: Vec<[f64; 2]> = from.into_iter().chain(precision_recall).collect();
    Some(Detection {
        roc: thin(&roc, DETAIL),
        auroc,
        precision_recall: thin(&precision_recall, DETAIL),
        average_precision,
        base_rate: share(positives, positives + negatives),
    })
}

/// How many of `test` and `ood`, both ascending, lie at each distinct value and above, from the
/// highest value down.
fn turned_away(test: &[f64], ood: &[f64]) -> Vec<[usize; 2]> {
    let (mut low, mut high) = (test.len(), ood.len());
    let mut steps = Vec::new();
    while low > 0 || high > 0 {
        let tops = [test[..low].last(), ood[..high].last()];
        let top = tops.into_iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        // Anything but a number above every other, NaN included, goes with this step; so each
        // step takes at least one.
        let below = |values: &[f64]| values.iter().rposition(|v| *v < top).map_or(0, |at| at + 1);
        (low, high) = (below(&test[..low]), below(&ood[..high]));
        steps.push([test.len() - low, ood.len() - high]);
    }
    steps
}

fn trapezoid([x0, y0]: [f64; 2], [x1, y1]: [f64; 2]) -> f64 {
    (x1 - x0) * (y0 + y1) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(test: &[f64], ood: &[f64]) -> Detection {
        detection(&Ranked::unlabelled(test), &Ranked::unlabelled(ood)).unwrap()
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
    fn ties_across_the_two_kinds_count_half() {
        // Pairs (test, ood): 0.1 < 0.2, 0.1 < 0.3, 0.2 = 0.2, 0.2 < 0.3.
        assert!((found(&[0.1, 0.2], &[0.2, 0.3]).auroc - 3.5 / 4.0).abs() < 1e-15);
    }

    #[test]
    fn average_precision_is_the_step_sum() {
        let found = found(&[0.8, 0.1], &[0.9, 0.3]);
        assert!((found.average_precision - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-15);
    }

    #[test]
    fn one_kind_alone_has_no_curve() {
        let (some, none) = (Ranked::unlabelled(&[0.5]), Ranked::unlabelled(&[]));
        assert_eq!(detection(&some, &none), None);
        assert_eq!(detection(&none, &some), None);
    }

    #[test]
    fn not_even_nan_makes_it_run_forever() {
        assert_eq!(found(&[f64::NAN, 0.1], &[f64::NAN]).roc.last(), Some(&[1.0, 1.0]));
    }
}
