//! The thresholds the slider stops at.

use super::{Accepted, Ranked};
use crate::evidence::Evidence;

/// Stops at most; each of them is exact.
const STOPS: usize = 2_000;

/// Coverages that always have a stop, for the table and the buttons.
pub(in crate::evidence) const ROUND: [f64; 6] = [0.5, 0.8, 0.9, 0.95, 0.99, 1.0];

/// Where the slider starts when the model has no threshold of its own.
const START: f64 = 0.95;

/// What a threshold accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::evidence) struct Point {
    pub threshold: f64,
    pub test: Accepted,
    pub shift: Accepted,
    /// Accepted out-of-domain examples.
    pub ood: usize,
}

/// The thresholds from the strictest to the most lenient.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::evidence) struct Sweep {
    pub points: Vec<Point>,
    /// The one at the model's own threshold, or at [`START`].
    pub start: usize,
    /// All test examples.
    pub test: Accepted,
    /// All shifted examples.
    pub shift: Accepted,
    /// All out-of-domain examples.
    pub ood: usize,
    /// Whether [`start`](Self::start) is the model's own threshold.
    pub own: bool,
}

impl Sweep {
    /// None without test examples.
    pub fn new(evidence: &Evidence, test: &Ranked, shift: &Ranked, ood: &Ranked) -> Option<Self> {
        let values = test.values();
        let last = *values.last()?;
        let even = STOPS - ROUND.len() - 1;
        let spread = (1..=even).map(|stop| (stop * values.len()).div_ceil(even));
        let round = ROUND.map(|coverage| fewest(coverage, values.len()));
        let mut thresholds: Vec<f64> = spread
            .chain(round)
            .map(|count| values.get(count.saturating_sub(1)).copied().unwrap_or(last))
            .chain(evidence.threshold)
            .collect();
        thresholds.sort_unstable_by(f64::total_cmp);
        thresholds.dedup();

        let point = |&threshold: &f64| Point {
            threshold,
            test: test.at(threshold),
            shift: shift.at(threshold),
            ood: ood.at(threshold).count,
        };
        let points: Vec<Point> = thresholds.iter().map(point).collect();
        let mut sweep = Self {
            points,
            start: 0,
            test: test.total(),
            shift: shift.total(),
            ood: ood.values().len(),
            own: evidence.threshold.is_some(),
        };
        sweep.start = match evidence.threshold {
            Some(own) => thresholds.iter().position(|threshold| *threshold == own).unwrap_or(0),
            None => sweep.covering(START),
        };
        Some(sweep)
    }

    /// The strictest stop that accepts at least `coverage` of the test examples.
    pub fn covering(&self, coverage: f64) -> usize {
        let enough = fewest(coverage, self.test.count);
        self.points.partition_point(|point| point.test.count < enough).min(self.points.len() - 1)
    }

    /// The point at the start.
    pub fn starting(&self) -> Point {
        self.points[self.start]
    }

    /// The share of test examples a point accepts.
    pub fn coverage(&self, point: Point) -> f64 {
        point.test.count as f64 / self.test.count as f64
    }

    /// The share of out-of-domain examples a point turns away; none when there are none.
    pub fn caught(&self, point: Point) -> Option<f64> {
        (self.ood > 0).then(|| (self.ood - point.ood) as f64 / self.ood as f64)
    }
}

/// `coverage` of `total`, rounded up to whole examples but not by a rounding error.
fn fewest(coverage: f64, total: usize) -> usize {
    ((coverage * total as f64 - 1e-9).ceil() as usize).clamp(1, total.max(1))
}

#[cfg(test)]
mod tests;
