//! The mathematics behind the plots, as pure functions.
//!
//! Equal uncertainties move together everywhere: no result depends on the order of the examples.

mod detection;
mod histogram;
mod ranked;
mod regression;
mod risk;
mod sweep;
mod thin;

pub(super) use detection::{Detection, detection};
pub(super) use histogram::Histogram;
pub(super) use ranked::{Accepted, Ranked};
pub(super) use regression::{Group, by_width, mean_absolute_error};
pub(super) use risk::{RiskCoverage, risk_coverage};
pub(super) use sweep::{Point, ROUND, Sweep};
pub(super) use thin::thin;

use super::Bin;

/// The expected calibration error: the mean gap between confidence and accuracy, each bin
/// weighted by its examples. Zero when there are none.
pub(super) fn calibration_error(bins: &[Bin]) -> f64 {
    let total: usize = bins.iter().map(|bin| bin.count).sum();
    let gaps = bins.iter().map(|bin| bin.count as f64 * (bin.confidence - bin.accuracy).abs());
    gaps.sum::<f64>() / total.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calibration_error_weighs_gaps_by_examples() {
        let bin = |confidence, accuracy, count| Bin { confidence, accuracy, count };
        let bins = [bin(0.9, 0.8, 3), bin(0.5, 0.6, 1), bin(0.2, 0.9, 0)];
        assert!((calibration_error(&bins) - 0.1).abs() < 1e-12);
        assert_eq!(calibration_error(&[]), 0.0);
    }
}
