//! The evidence that a model knows what it does not know, as one page and its plots.
//!
//! [`Evidence`] is what an evaluation found. [`check`] refuses what cannot be shown honestly,
//! [`html`] makes one page that needs nothing but a browser, [`plots`] gives the same plots one by
//! one.
//!
//! | folder | what it gives |
//! | --- | --- |
//! | `data` | the types of the input |
//! | `outcome` | what the model's own decision makes of it |
//! | `curve` | the mathematics: thresholds, risk, detection, histograms |
//! | `plot` | the curves as [`Chart`]s |
//! | `page` | the HTML around them |
//!
//! A threshold accepts an example whose uncertainty is *at most* the threshold and that everything
//! else admits ([`Scored::admitted`]), everywhere. Curves of the score alone (ROC, precision-recall,
//! risk-coverage) are of all examples.
//!
//! ```
//! use sngp_report::evidence::{Evidence, Scored, check, html, plots};
//! use sngp_report::figure::Figure;
//!
//! let scored = |uncertainty, correct| {
//!     Scored { uncertainty, correct, probability: 0.9, admitted: true }
//! };
//! let evidence = Evidence {
//!     title: "banking".into(),
//!     score: "variance".into(),
//!     test: vec![scored(0.1, true), scored(0.2, true), scored(0.7, false)],
//!     ood: vec![0.8, 0.9],
//!     ..Evidence::default()
//! };
//! check(&evidence)?;
//! assert!(html(&evidence).contains("banking"));
//! for (stem, plot) in plots(&evidence) {
//!     assert!(plot.svg()?.starts_with("<svg"), "{stem}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod curve;
mod data;
mod outcome;
mod page;
mod plot;
#[cfg(test)]
mod tests;

pub use check::{EvidenceError, check};
pub use data::{
    ClassRow, Confusion, Content, Evidence, Example, Interval, MetricRow, OodSet,
    RegressionEvidence, Scored, Set, Truth,
};
pub use outcome::{Answered, AtThreshold, Errors, Rejected};

use crate::figure::Chart;

/// The report as one HTML page: no network, no other files, no library.
///
/// Everything from the data is escaped. The same evidence always gives the same page. Evidence
/// that [`check`] refuses makes a page with gaps, never a panic.
pub fn html(evidence: &Evidence) -> String {
    page::html(evidence)
}

/// Every plot the evidence allows, by the stem of its file: `risk_coverage`, `histogram`,
/// `reliability`, with OOD examples `roc` and `precision_recall`, and for regression
/// `regression_scatter`.
pub fn plots(evidence: &Evidence) -> Vec<(String, Chart)> {
    plot::all(evidence).into_iter().map(|plot| (plot.chart.id.to_string(), plot.chart)).collect()
}
