//! What benchmarks that train networks share.
//!
//! A [`Study`] says what is trained on what. [`Networks`] trains what is missing, tunes it on
//! held-out data, keeps it on disk, and measures it once. A [`Search`] looks for better settings.

mod detection;
mod detectors;
mod networks;
mod search;
mod store;
mod study;
pub mod tables;
mod tuning;

pub use detection::{MISTAKES, detection, failure_with, failures, mistakes};
pub use detectors::FittedDetectors;
pub(crate) use networks::single_method;
pub use networks::{Networks, RunOptions};
pub use search::{BoundOf, Choice, Found, Search, Trial};
pub use store::{Figure, Measured};
pub use study::Study;
pub use tuning::{TuningConfig, class_labels};

use std::time::Instant;

use sngp::{Error, Result};

/// Examples whose latency is measured one by one.
const TIMED: usize = 200;

/// Milliseconds an example, one at a time: the median of at most 200.
pub fn latency(examples: usize, mut predict: impl FnMut(usize) -> Result<()>) -> Result<f64> {
    let mut times = Vec::new();
    for index in 0..examples.min(TIMED) {
        let started = Instant::now();
        predict(index)?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied();
    median.ok_or_else(|| Error::Data("there are no test examples".to_string()))
}
