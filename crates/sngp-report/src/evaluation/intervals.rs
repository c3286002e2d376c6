//! Bootstrap intervals.

use rand::RngExt;
use rayon::prelude::*;
use sngp::Result;
use sngp::seed::{Purpose, stream};

/// Resamples an interval is taken from, and the share of them it holds.
const RESAMPLES: u64 = 200;
/// See [`RESAMPLES`].
pub const LEVEL: f64 = 0.95;
/// More rows than this are not resampled; what fewer vary more is scaled back.
const MOST: usize = 20_000;

/// The interval a value lies in with 95 % of resamples of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The bootstrap intervals of several values that are computed from the same rows. `measure` gets
/// the rows, some of them several times. A resample it cannot measure (one class only, say) is
/// left out.
///
/// ```
/// let heights: Vec<f64> = (0..400).map(|i| f64::from(i % 20)).collect();
/// let mean = |rows: &[usize]| {
///     Ok(vec![rows.iter().map(|&row| heights[row]).sum::<f64>() / rows.len() as f64])
/// };
/// let interval = sngp_report::evaluation::intervals(heights.len(), &[9.5], mean)[0].unwrap();
/// // The standard error is 5.77 / 20.
/// assert!((interval.high - interval.low - 4.0 * 0.288).abs() < 0.3, "{interval:?}");
/// ```
pub fn intervals(
    rows: usize,
    values: &[f64],
    measure: impl Fn(&[usize]) -> Result<Vec<f64>> + Sync,
) -> Vec<Option<Interval>> {
    let drawn = rows.min(MOST);
    let resample = |index: u64| {
        let mut rng = stream(0, Purpose::MonteCarlo, index);
        let rows: Vec<usize> = (0..drawn).map(|_| rng.random_range(0..rows)).collect();
        measure(&rows).ok()
    };
    let samples: Vec<Vec<f64>> = (0..RESAMPLES).into_par_iter().filter_map(resample).collect();
    let shrink = (drawn as f64 / rows as f64).sqrt();
    let interval = |(index, &value): (usize, &f64)| {
        let mut column: Vec<f64> = samples.iter().map(|sample| sample[index]).collect();
        if column.len() < 20 || column.iter().any(|sample| !sample.is_finite()) {
            return None;
        }
        column.sort_by(f64::total_cmp);
        let at = |share: f64| column[((column.len() - 1) as f64 * share).round() as usize];
        let tail = (1.0 - LEVEL) / 2.0;
        let end = |share: f64| value + (at(share) - value) * shrink;
        Some(Interval { low: end(tail), high: end(1.0 - tail) })
    };
    values.iter().enumerate().map(interval).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_has_no_interval() {
        let failing = |_: &[usize]| Err(sngp::Error::Data("no".to_string()));
        assert_eq!(intervals(10, &[1.0], failing), [None]);
    }

    #[test]
    fn larger_sets_have_narrower_intervals() {
        let width = |rows: usize| {
            let mean = |sample: &[usize]| {
                let sum = sample.iter().map(|row| (row % 2) as f64).sum::<f64>();
                Ok(vec![sum / sample.len() as f64])
            };
            let interval = intervals(rows, &[0.5], mean)[0].unwrap();
            interval.high - interval.low
        };
        let ratio = width(20_000) / width(320_000);
        assert!((3.0..5.5).contains(&ratio), "{ratio}");
    }
}
