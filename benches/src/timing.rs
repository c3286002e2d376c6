//! How long a work takes.

use std::time::Instant;

use anyhow::Result;

use crate::works::Work;

/// The best time of one run within so many seconds, in milliseconds, and how many runs there
/// were: at least three, or one where one takes longer than twice the time.
pub fn best(work: &mut Work, seconds: f64) -> Result<(f64, usize)> {
    let start = Instant::now();
    let (mut best, mut runs) = (f64::INFINITY, 0);
    loop {
        let before = Instant::now();
        work()?;
        let took = before.elapsed().as_secs_f64();
        best = best.min(took);
        runs += 1;
        let spent = start.elapsed().as_secs_f64();
        if (spent >= seconds && runs >= 3) || took > 2.0 * seconds {
            return Ok((best * 1e3, runs));
        }
    }
}
