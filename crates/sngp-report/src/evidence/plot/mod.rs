//! The curves as charts, each with the sentence that explains it.

mod detection;
mod histogram;
mod regression;
mod reliability;
mod risk;

use super::Evidence;
use super::curve::{Ranked, Row, Sweep};
use crate::figure::{Chart, Mark, Position};

/// A chart and what to say about it.
pub(super) struct Plot {
    pub chart: Chart,
    pub title: &'static str,
    /// How to read it, and its figure; plain text.
    pub caption: String,
}

/// The evidence sorted once, for everything that needs it in order.
pub(super) struct Sorted {
    pub test: Ranked,
    pub shift: Ranked,
    pub ood: Ranked,
    /// None without test examples.
    pub sweep: Option<Sweep>,
}

impl Sorted {
    pub fn new(evidence: &Evidence) -> Self {
        let (test, shift, sets) =
            (evidence.test_rows(), evidence.shift_rows(), evidence.ood_rows());
        let ood: Vec<Row> = sets.iter().flat_map(|(_, rows)| rows).copied().collect();
        Self {
            sweep: Sweep::new(evidence.threshold, &test, &shift, &sets),
            test: Ranked::new(&test),
            shift: Ranked::new(&shift),
            ood: Ranked::new(&ood),
        }
    }
}

/// Every plot the evidence allows.
pub(super) fn all(evidence: &Evidence) -> Vec<Plot> {
    let sorted = Sorted::new(evidence);
    let last = [reliability::plot(evidence), regression::plot(evidence)];
    thresholds(evidence, &sorted).into_iter().chain(last.into_iter().flatten()).collect()
}

/// The plots on which a threshold is a place. A regression without an uncertainty has none.
pub(super) fn thresholds(evidence: &Evidence, sorted: &Sorted) -> Vec<Plot> {
    let unsure = evidence.regression.is_none() || !evidence.score.is_empty();
    let Some(sweep) = sorted.sweep.as_ref().filter(|_| unsure) else {
        return Vec::new();
    };
    let mut plots = vec![risk::plot(evidence, sorted, sweep)];
    plots.extend(histogram::plot(evidence, sorted, sweep));
    plots.extend(detection::plots(sorted, sweep));
    plots
}

pub(super) use regression::plot as regression;
pub(super) use reliability::plot as reliability;

/// A mark of the threshold. Its label does not say which one: a reader may move it.
fn mark(at: Position) -> Option<Mark> {
    Some(Mark { label: "threshold".into(), at })
}
