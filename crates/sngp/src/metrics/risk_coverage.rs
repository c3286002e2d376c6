//! The risk-coverage curve.

use serde::{Deserialize, Serialize};

use super::{input, rank};
use crate::Result;

/// One point of a risk-coverage curve.
///
/// ```
/// let curve = sngp::metrics::risk_coverage(&[0.1, 0.4], &[true, false])?;
/// let half = curve.points()[0];
/// assert_eq!((half.coverage, half.risk, half.threshold), (0.5, 0.0, 0.1));
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RiskCoveragePoint {
    /// The share of examples that are answered, the most certain first.
    pub coverage: f64,
    /// The share of the answered ones that is wrong, or their mean loss.
    pub risk: f64,
    /// The uncertainty of the last one answered. Answering up to and including it gives this
    /// coverage, or the next higher one at which a group of ties is complete.
    pub threshold: f64,
}

/// A risk-coverage curve, made by [`risk_coverage`]; it has at least one point.
///
/// ```
/// let curve = sngp::metrics::risk_coverage(&[0.1, 0.4, 0.3], &[true, false, true])?;
/// let last = curve.points().last().unwrap();
/// assert_eq!((last.coverage, last.threshold), (1.0, 0.4));
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RiskCoverage {
    points: Vec<RiskCoveragePoint>,
}

impl RiskCoverage {
    /// The curve, one point an example, coverage rising from `1/n` to 1.
    pub fn points(&self) -> &[RiskCoveragePoint] {
        &self.points
    }

    /// The area under the curve (AURC): the mean risk over all coverages `1/n, 2/n, ..., 1`.
    ///
    /// Constant uncertainty gives the plain error rate; lower is better.
    ///
    /// ```
    /// let curve = sngp::metrics::risk_coverage(&[0.1, 0.4], &[true, false])?;
    /// assert_eq!(curve.area(), 0.25);
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn area(&self) -> f64 {
        self.points.iter().map(|point| point.risk).sum::<f64>() / self.points.len() as f64
    }

    /// The accuracy on the most certain `coverage` (above 0, at most 1) of the examples, rounded
    /// up to whole ones.
    ///
    /// ```
    /// let curve = sngp::metrics::risk_coverage(&[0.1, 0.4], &[true, false])?;
    /// assert_eq!(curve.accuracy_at(0.5)?, 1.0);
    /// assert_eq!(curve.accuracy_at(1.0)?, 0.5);
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn accuracy_at(&self, coverage: f64) -> Result<f64> {
        input::fraction("coverage", coverage)?;
        Ok(1.0 - self.points[input::fewest(coverage, self.points.len()) - 1].risk)
    }
}

/// The error rate on the most certain examples, as more and more of them are answered.
///
/// Examples with the same uncertainty have no order among themselves, so inside such a group the
/// curve is what a random order gives on average: errors grow evenly from the group's start to
/// its end. Without that, the result would depend on how the data set was sorted.
///
/// ```
/// let curve = sngp::metrics::risk_coverage(&[0.2, 0.2], &[true, false])?;
/// assert_eq!(curve.points()[0].risk, 0.5);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn risk_coverage(uncertainty: &[f64], correct: &[bool]) -> Result<RiskCoverage> {
    let losses: Vec<f64> = correct.iter().map(|&right| if right { 0.0 } else { 1.0 }).collect();
    loss_coverage(uncertainty, &losses)
}

/// The same for any loss, e.g. the squared error of a number: the risk of a point is the mean loss
/// of what is answered.
///
/// ```
/// let curve = sngp::metrics::loss_coverage(&[0.3, 0.1], &[4.0, 1.0])?;
/// assert_eq!((curve.points()[0].risk, curve.points()[1].risk), (1.0, 2.5));
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn loss_coverage(uncertainty: &[f64], losses: &[f64]) -> Result<RiskCoverage> {
    input::comparable("uncertainties", uncertainty)?;
    input::finite("losses", losses)?;
    input::same_length("losses", losses.len(), "the uncertainties", uncertainty.len())?;

    let order = rank::ascending(uncertainty);
    let mut points = Vec::with_capacity(order.len());
    let mut lost_before = 0.0;
    for group in rank::ties(&order, uncertainty) {
        let lost: f64 = group.iter().map(|&example| losses[example]).sum();
        let mean = lost / group.len() as f64;
        let answered_before = points.len();
        for taken in 1..=group.len() {
            let answered = (answered_before + taken) as f64;
            points.push(RiskCoveragePoint {
                coverage: answered / order.len() as f64,
                risk: (lost_before + taken as f64 * mean) / answered,
                threshold: uncertainty[group[0]],
            });
        }
        lost_before += lost;
    }
    Ok(RiskCoverage { points })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_uncertainty_gives_the_error_rate_everywhere() {
        let curve = risk_coverage(&[0.3; 4], &[true, false, true, true]).unwrap();
        assert!(curve.points().iter().all(|point| point.risk == 0.25));
        assert_eq!(curve.area(), 0.25);
        assert_eq!(curve.accuracy_at(0.1).unwrap(), 0.75);
    }

    #[test]
    fn a_tied_group_is_the_average_over_its_orders() {
        let uncertainty = [0.1, 0.2, 0.2];
        let orders = [[false, true, false], [false, false, true]];
        let broken_ties = |correct: &[bool; 3]| {
            risk_coverage(&[0.1, 0.2, 0.3], correct).map(|curve| curve.area()).unwrap()
        };
        let average = orders.iter().map(broken_ties).sum::<f64>() / 2.0;
        let tied = risk_coverage(&uncertainty, &orders[0]).unwrap();
        assert!((tied.area() - average).abs() < 1e-15);
        assert_eq!(tied, risk_coverage(&uncertainty, &orders[1]).unwrap());
    }

    #[test]
    fn errors_are_a_loss_of_one() {
        let (uncertainty, correct) = ([0.4, 0.1, 0.4, 0.2], [false, true, true, false]);
        let losses = correct.map(|right| if right { 0.0 } else { 1.0 });
        let curve = loss_coverage(&uncertainty, &losses).unwrap();
        assert_eq!(curve, risk_coverage(&uncertainty, &correct).unwrap());
        let tenfold = loss_coverage(&uncertainty, &losses.map(|loss| 10.0 * loss)).unwrap();
        assert!((tenfold.area() - 10.0 * curve.area()).abs() < 1e-12);
    }

    #[test]
    fn bad_input_is_an_error() {
        assert!(risk_coverage(&[], &[]).is_err());
        assert!(loss_coverage(&[0.1], &[f64::NAN]).is_err());
        assert!(risk_coverage(&[f64::NAN], &[true]).is_err());
        assert!(risk_coverage(&[0.1], &[true, false]).is_err());
        let curve = risk_coverage(&[0.1], &[true]).unwrap();
        for coverage in [0.0, -0.5, 1.1, f64::NAN] {
            assert!(curve.accuracy_at(coverage).is_err(), "{coverage}");
        }
    }
}
