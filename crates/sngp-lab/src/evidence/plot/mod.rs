//! The curves as charts, each with the sentence that explains it.

mod detection;
mod histogram;
mod regression;
mod reliability;
mod risk;

use super::Evidence;
use super::curve::{Ranked, Sweep};
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
        let [test, shift] = [&evidence.test, &evidence.shift].map(|rows| Ranked::new(rows));
        let ood = Ranked::unlabelled(&evidence.ood);
        let sweep = Sweep::new(evidence, &test, &shift, &ood);
        Self { test, shift, ood, sweep }
    }
}

/// Every plot the evidence allows.
pub(super) fn all(evidence: &Evidence) -> Vec<Plot> {
    let sorted = Sorted::new(evidence);
    let last = [reliability::plot(evidence), regression::plot(evidence)];
    thresholds(evidence, &sorted).into_iter().chain(last.into_iter().flatten()).collect()
}

/// The plots on which a threshold is a place.
pub(super) fn thresholds(evidence: &Evidence, sorted: &Sorted) -> Vec<Plot> {
    let Some(sweep) = &sorted.sweep else {
        return Vec::new();
    };
    let mut plots = vec![risk::plot(sorted, sweep)];
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
