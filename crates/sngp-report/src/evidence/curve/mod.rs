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
pub(super) use ranked::{Accepted, Ranked, Row};
pub(super) use regression::{Group, by_width, mean_absolute_error};
pub(super) use risk::{RiskCoverage, risk_coverage};
pub(super) use sweep::{OodSweep, Point, ROUND, Sweep};
pub(super) use thin::thin;
