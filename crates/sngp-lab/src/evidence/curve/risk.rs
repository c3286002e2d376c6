//! The risk-coverage curve and the best one any score could give.

use super::{Accepted, Ranked};

/// Points of a curve; finer than any screen shows.
const POINTS: usize = 400;

/// Risk (the share of the accepted that is wrong) over coverage (the share that is accepted).
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::evidence) struct RiskCoverage {
    /// Points `[coverage, risk]`, coverage ascending to 1.
    pub points: Vec<[f64; 2]>,
    /// The area under the curve (AURC): the mean risk over all coverages `1/n, 2/n, ..., 1`.
    pub area: f64,
    /// The curve of a score that accepts every right answer before any wrong one.
    pub oracle: Vec<[f64; 2]>,
    /// The area under the oracle's curve.
    pub oracle_area: f64,
}

/// Inside a group of equal uncertainties the curve is what a random order gives on average:
/// mistakes grow evenly from the group's start to its end.
pub(in crate::evidence) fn risk_coverage(ranked: &Ranked) -> RiskCoverage {
    let total = ranked.total();
    let mut before = Accepted::default();
    let mut risks = Vec::with_capacity(total.count);
    for (_, now) in ranked.steps() {
        let (size, wrong) = (now.count - before.count, now.wrong - before.wrong);
        let rate = wrong as f64 / size as f64;
        risks.extend((1..=size).map(|taken| {
            (before.wrong as f64 + taken as f64 * rate) / (before.count + taken) as f64
        }));
        before = now;
    }
    let right = total.count - total.wrong;
    let oracle: Vec<f64> =
        (1..=total.count).map(|n| n.saturating_sub(right) as f64 / n as f64).collect();
    RiskCoverage {
        points: points(&risks),
        area: mean(&risks),
        oracle: points(&oracle),
        oracle_area: mean(&oracle),
    }
}

/// Every `1/POINTS` of coverage one point, the last always.
fn points(risks: &[f64]) -> Vec<[f64; 2]> {
    let n = risks.len();
    let slot = |index: usize| index * POINTS / n;
    let kept = (0..n).filter(|&index| index + 1 == n || slot(index) != slot(index + 1));
    kept.map(|index| [(index + 1) as f64 / n as f64, risks[index]]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Scored;

    fn curve(rows: &[(f64, bool)]) -> RiskCoverage {
        let scored = |&(uncertainty, correct)| Scored { uncertainty, correct, probability: 0.5 };
        risk_coverage(&Ranked::new(&rows.iter().map(scored).collect::<Vec<_>>()))
    }

    #[test]
    fn risk_is_counted_from_the_surest_on() {
        let curve = curve(&[(0.3, false), (0.1, true), (0.2, false), (0.4, true)]);
        let expected = [[0.25, 0.0], [0.5, 0.5], [0.75, 2.0 / 3.0], [1.0, 0.5]];
        assert_eq!(curve.points, expected);
        assert!((curve.area - (0.0 + 0.5 + 2.0 / 3.0 + 0.5) / 4.0).abs() < 1e-15);
        assert_eq!(curve.oracle, [[0.25, 0.0], [0.5, 0.0], [0.75, 1.0 / 3.0], [1.0, 0.5]]);
    }

    #[test]
    fn a_constant_score_gives_the_error_rate_everywhere() {
        let curve = curve(&[(0.3, true), (0.3, false), (0.3, true), (0.3, true)]);
        assert!(curve.points.iter().all(|point| point[1] == 0.25));
        assert_eq!(curve.area, 0.25);
    }

    #[test]
    fn a_tied_group_is_the_average_over_its_orders() {
        let tied = curve(&[(0.1, false), (0.2, true), (0.2, false)]);
        let [one, other] = [[true, false], [false, true]]
            .map(|[a, b]| curve(&[(0.1, false), (0.2, a), (0.3, b)]).area);
        assert!((tied.area - (one + other) / 2.0).abs() < 1e-15);
    }

    #[test]
    fn long_curves_are_thinned_and_keep_their_end() {
        let rows: Vec<_> = (0..10_001).map(|i| (f64::from(i), i % 10 != 0)).collect();
        let curve = curve(&rows);
        assert!(curve.points.len() <= POINTS + 1);
        assert_eq!(curve.points.last().unwrap(), &[1.0, 1001.0 / 10_001.0]);
        assert!(curve.oracle_area < curve.area);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(curve(&[]), RiskCoverage::default());
    }
}
