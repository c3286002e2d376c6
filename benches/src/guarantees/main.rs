//! Whether promises are kept: 400 calibrations on real data for each of them.
//!
//! `sngp-guarantees DATA OUT.md [MINUTES]` reads the prepared sets below the folder DATA (as SNGP_DATA
//! names it) and writes the page. What is measured is kept in OUT.trials.jsonl, where a later start goes
//! on. After so many minutes no fit is begun any more, and the page is of those that are there.

mod classes;
mod intervals;
mod log;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sngp_kernels::allocator::{MiMalloc, keep_pages};
use sngp_lab::provenance;
use statrs::function::beta::beta_reg;

use crate::log::Log;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Calibrations, or fits, of each promise at the most.
const TRIALS: u64 = 400;

/// One promise on one set.
#[derive(Serialize, Deserialize)]
struct Kept {
    set: String,
    promise: String,
    /// How often it was made.
    #[serde(default = "all")]
    trials: u64,
    /// Trials in which it was broken.
    violated: u64,
    /// The share in which it may be.
    allowed: f64,
    /// Further columns: what it costs.
    cost: Vec<String>,
}

fn all() -> u64 {
    TRIALS
}

impl Kept {
    /// The chance of so many violations or more if they are as frequent as allowed.
    fn chance(&self) -> f64 {
        let (violated, trials) = (self.violated as f64, self.trials as f64);
        if self.violated == 0 {
            1.0
        } else {
            beta_reg(violated, trials - violated + 1.0, self.allowed)
        }
    }
}

fn table(rows: &[Kept], costs: &[&str]) -> String {
    let mut text = format!(
        "| set | promise | broken | allowed | chance of as many | {} |\n",
        costs.join(" | ")
    );
    text += &format!("|{}\n", " --- |".repeat(5 + costs.len()));
    for kept in rows {
        let Kept { set, promise, trials, violated, allowed, cost } = kept;
        let _ = writeln!(
            text,
            "| {set} | {promise} | {violated} of {trials} | {:.1} of {trials} | {:.2} | {} |",
            allowed * *trials as f64,
            kept.chance(),
            cost.join(" | ")
        );
    }
    text
}

fn main() -> Result<()> {
    keep_pages();
    let mut arguments = std::env::args().skip(1);
    let usage = "sngp-guarantees DATA OUT.md [MINUTES]";
    let data = arguments.next().context(usage)?;
    let out = arguments.next().context(usage)?;
    let minutes = arguments.next().map(|text| text.parse::<u64>().context(usage)).transpose()?;
    let end = minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let mut log = Log::open(&Path::new(&out).with_extension("trials.jsonl"))?;
    let (errors, abstentions) = classes::measure(Path::new(&data), &mut log)?;
    let intervals = intervals::measure(&Path::new(&data).join("uci"), &mut log, end)?;
    let kept = [&errors, &abstentions, &intervals];
    let least = kept.iter().flat_map(|rows| rows.iter()).map(Kept::chance).fold(1.0, f64::min);
    let count: usize = kept.iter().map(|rows| rows.len()).sum();
    let page = format!(
        "# Promises, kept or not\n\n\
         Each promise was made up to {TRIALS} times on each set, on other rows every time. *Chance of as \
         many* is that of so many broken promises or more if they were broken as often as allowed \
         (exact binomial); a small one would speak against the promise. The least of these {count} \
         chances is {least:.2}.\n\n\
         ## `calibrate --max-error` at 95 % confidence\n\n\
         One model a set, fitted to its training rows. The other rows are the population: what \
         calibrates is drawn from it with replacement, so the error of a rule is known exactly. \
         Broken: the error of the accepted rows is larger than promised. *Hindsight* is the coverage \
         of the best threshold for the whole population, *lost* what of it the calibrations lose on \
         average. A calibration that finds no rule counts as a coverage of 0.\n\n{}\n\
         ## `calibrate --max-abstain`\n\n\
         The same models and populations. The promise is one on average: 500 further rows are drawn \
         after each calibration, and broken means that the first of them is rejected.\n\n{}\n\
         ## Intervals of 90 %\n\n\
         A model is fitted to 200 rows drawn by chance, by default, and tried on up to 100 others. \
         Broken: the interval of one of these, drawn by chance, misses the truth. *Coverage* is that \
         of all of them.\n\n{}\n\
         Command: `sngp-guarantees $SNGP_DATA docs/results/guarantees.md` after `cargo build --release \
         --workspace`; commit {}; {}.\n",
        table(&errors, &["rows", "coverage", "hindsight", "lost"]),
        table(&abstentions, &["rows", "rejected on average"]),
        table(&intervals, &["rows", "coverage", "mean width / deviation of the truth"]),
        provenance::commit(),
        provenance::cpu(rayon::current_num_threads()),
    );
    std::fs::write(&out, &page).with_context(|| out.clone())?;
    print!("{page}");
    Ok(())
}
