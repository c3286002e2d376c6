//! Metrics as rows of the report, with their intervals.

use sngp::Result;

use super::intervals::intervals;
use crate::evidence::{Evidence, MetricRow, Set};

/// What is said of a metric.
pub(super) struct Told {
    pub name: String,
    pub summary: &'static str,
    pub higher_is_better: Option<bool>,
}

impl Told {
    pub fn new(name: impl Into<String>, summary: &'static str, better: Option<bool>) -> Self {
        Self { name: name.into(), summary, higher_is_better: better }
    }
}

/// Where metrics belong.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub set: Set,
    /// The OOD set; none for all of them together.
    pub ood: Option<&'a str>,
    /// What ranks the examples, where something does.
    pub by: Option<&'a str>,
}

impl Place<'_> {
    pub fn of(set: Set) -> Self {
        Self { set, ood: None, by: None }
    }
}

/// Measures `rows` examples and adds what `measure` finds, metric by metric. With `resampled` each
/// has the interval that resamples of the rows give.
pub(super) fn add(
    evidence: &mut Evidence,
    place: Place<'_>,
    told: Vec<Told>,
    rows: usize,
    resampled: bool,
    measure: impl Fn(&[usize]) -> Result<Vec<f64>> + Sync,
) -> Result<()> {
    let values = measure(&(0..rows).collect::<Vec<_>>())?;
    let found =
        if resampled { intervals(rows, &values, measure) } else { vec![None; values.len()] };
    for ((told, value), interval) in told.into_iter().zip(values).zip(found) {
        evidence.metrics.push(MetricRow {
            set: place.set,
            ood: place.ood.map(str::to_string),
            by: place.by.map(str::to_string),
            name: told.name,
            summary: told.summary.to_string(),
            higher_is_better: told.higher_is_better,
            value,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
        });
    }
    Ok(())
}

/// Some of the values.
pub(super) fn pick<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| values[row]).collect()
}
