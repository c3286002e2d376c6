//! The thresholds the slider stops at.

use sngp::metrics::fewest;

use super::{Accepted, Ranked, Row};

/// Stops at most; each of them is exact.
const STOPS: usize = 2_000;

/// Coverages that always have a stop, for the table and the buttons.
pub(in crate::evidence) const ROUND: [f64; 6] = [0.5, 0.8, 0.9, 0.95, 0.99, 1.0];

/// Where the slider starts when the model has no threshold of its own.
const START: f64 = 0.95;

/// What a threshold accepts, of what everything else admits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::evidence) struct Point {
    pub threshold: f64,
    pub test: Accepted,
    /// The mean loss of the accepted test examples; none where nothing is accepted.
    pub loss: Option<f64>,
    pub shift: Accepted,
    /// Accepted OOD examples.
    pub ood: usize,
}

/// What the thresholds accept of one OOD set.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::evidence) struct OodSweep {
    pub name: String,
    pub rows: usize,
    /// Accepted examples at every stop.
    pub accepted: Vec<usize>,
}

/// The thresholds from the strictest to the most lenient.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::evidence) struct Sweep {
    pub points: Vec<Point>,
    /// The one at the model's own threshold, or at [`START`].
    pub start: usize,
    /// All test examples, whether a threshold can accept them or not.
    pub test: Accepted,
    /// The mean loss of all test examples.
    pub loss: f64,
    /// All shifted examples.
    pub shift: Accepted,
    /// All OOD examples.
    pub ood: usize,
    pub ood_sets: Vec<OodSweep>,
    /// Test and OOD examples that are rejected whatever the threshold.
    pub never: [usize; 2],
    /// Whether [`start`](Self::start) is the model's own threshold.
    pub own: bool,
}

impl Sweep {
    /// None without test examples.
    pub fn new(
        own: Option<f64>,
        test: &[Row],
        shift: &[Row],
        ood: &[(&str, Vec<Row>)],
    ) -> Option<Self> {
        let every = Ranked::new(test);
        let most = *every.values().last()?;
        let [admitted, shifted] = [test, shift].map(Ranked::admitted);
        let thresholds = thresholds(own, admitted.values(), test.len(), most);
        let sets: Vec<Ranked> = ood.iter().map(|(_, rows)| Ranked::admitted(rows)).collect();
        let accepted =
            |set: &Ranked| thresholds.iter().map(|&at| set.at(at).count).collect::<Vec<_>>();
        let ood_sets: Vec<OodSweep> = ood
            .iter()
            .zip(&sets)
            .map(|((name, rows), set)| OodSweep {
                name: (*name).to_string(),
                rows: rows.len(),
                accepted: accepted(set),
            })
            .collect();
        let point = |(stop, &threshold): (usize, &f64)| Point {
            threshold,
            test: admitted.at(threshold),
            loss: admitted.loss_at(threshold),
            shift: shifted.at(threshold),
            ood: ood_sets.iter().map(|set| set.accepted[stop]).sum(),
        };
        let all_ood: usize = ood_sets.iter().map(|set| set.rows).sum();
        let admitted_ood: usize = sets.iter().map(|set| set.values().len()).sum();
        let mut sweep = Self {
            points: thresholds.iter().enumerate().map(point).collect(),
            start: 0,
            test: every.total(),
            loss: every.loss_at(f64::INFINITY).unwrap_or(0.0),
            shift: Ranked::new(shift).total(),
            ood: all_ood,
            never: [test.len() - admitted.values().len(), all_ood - admitted_ood],
            ood_sets,
            own: own.is_some(),
        };
        sweep.start = match own {
            Some(own) => thresholds.iter().position(|threshold| *threshold == own).unwrap_or(0),
            None => sweep.covering(START),
        };
        Some(sweep)
    }

    /// The strictest stop that accepts at least `coverage` of the test examples, or the most
    /// lenient one.
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

    /// The share of OOD examples a point rejects; none when there are none.
    pub fn rejected_ood(&self, point: Point) -> Option<f64> {
        (self.ood > 0).then(|| (self.ood - point.ood) as f64 / self.ood as f64)
    }
}

/// Stops spread evenly over the admitted examples, at round coverages of all `total`, and at the
/// model's own threshold; at the `most` uncertain example where none is admitted.
fn thresholds(own: Option<f64>, admitted: &[f64], total: usize, most: f64) -> Vec<f64> {
    let last = admitted.last().copied().unwrap_or(most);
    let even = STOPS - ROUND.len() - 1;
    let spread = (1..=even).map(|stop| (stop * admitted.len()).div_ceil(even));
    let round = ROUND.map(|coverage| fewest(coverage, total));
    let mut thresholds: Vec<f64> = spread
        .chain(round)
        .map(|count| admitted.get(count.saturating_sub(1)).copied().unwrap_or(last))
        .chain(own)
        .collect();
    thresholds.sort_unstable_by(f64::total_cmp);
    thresholds.dedup();
    thresholds
}

#[cfg(test)]
mod tests;
