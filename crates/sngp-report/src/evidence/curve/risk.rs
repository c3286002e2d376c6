//! The risk-coverage curve and the best one any score could give.

use sngp::metrics::{RiskCoveragePoint, loss_coverage};

use super::Ranked;

/// Points of a curve; finer than any screen shows.
const POINTS: usize = 400;

/// Risk (the mean loss of the accepted: the share that is wrong, or the mean squared error) over
/// coverage (the share that is accepted).
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::evidence) struct RiskCoverage {
    /// Points `[coverage, risk]`, coverage ascending to 1.
    pub points: Vec<[f64; 2]>,
    /// The area under the curve (AURC): the mean risk over all coverages `1/n, 2/n, ..., 1`.
    pub area: f64,
    /// The curve of a score that accepts smaller losses first: every right answer before any
    /// wrong one.
    pub oracle: Vec<[f64; 2]>,
    /// The area under the oracle's curve.
    pub oracle_area: f64,
}

pub(in crate::evidence) fn risk_coverage(ranked: &Ranked) -> RiskCoverage {
    let curve = |uncertainty: &[f64]| loss_coverage(uncertainty, ranked.losses()).ok();
    // Nothing, or nothing that can be ranked, has no curve.
    let (Some(own), Some(oracle)) = (curve(ranked.values()), curve(ranked.losses())) else {
        return RiskCoverage::default();
    };
    RiskCoverage {
        points: points(own.points()),
        area: own.area(),
        oracle: points(oracle.points()),
        oracle_area: oracle.area(),
    }
}

/// Every `1/POINTS` of coverage one point, the last always.
fn points(curve: &[RiskCoveragePoint]) -> Vec<[f64; 2]> {
    let n = curve.len();
    let slot = |index: usize| index * POINTS / n;
    let kept = (0..n).filter(|&index| index + 1 == n || slot(index) != slot(index + 1));
    kept.map(|index| [curve[index].coverage, curve[index].risk]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::curve::Row;

    fn curve(rows: &[(f64, bool)]) -> RiskCoverage {
        let row = |&(uncertainty, correct): &(f64, bool)| {
            let (wrong, loss) = (!correct, if correct { 0.0 } else { 1.0 });
            Row { uncertainty, admitted: true, wrong, loss }
        };
        risk_coverage(&Ranked::new(&rows.iter().map(row).collect::<Vec<_>>()))
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
