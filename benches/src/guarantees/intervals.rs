//! Intervals of regressions.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use sngp::seed::{Purpose, stream};
use sngp_pipeline::input::{Body, Dataset, Place};
use sngp_pipeline::{Options, Outcome, Pipeline, Target, Task};

use crate::log::Log;
use crate::{Kept, TRIALS};

const SETS: [(&str, &str); 3] =
    [("boston", "Boston housing"), ("concrete", "concrete"), ("yacht", "yacht")];
const LABEL: &str = "y";
const COVERAGE: f64 = 0.9;
/// Rows a model is fitted to, and the most it is tried on: few, so that a fit takes seconds; a promise
/// is the harder to keep.
const ROWS: usize = 200;
const TESTED: usize = 100;

/// Some rows of a table.
fn some(set: &Dataset, chosen: &[usize]) -> Result<Dataset> {
    let Body::Rows { names, rows } = &set.body else { anyhow::bail!("a table is needed") };
    let rows = chosen.iter().map(|&row| rows[row].clone()).collect();
    Ok(Dataset::of_cells(names.clone(), rows)?.with_label_column(LABEL)?)
}

/// What one fit says of the promise.
#[derive(Serialize, Deserialize)]
struct Trial {
    /// Whether the model promises so much.
    promised: bool,
    /// Whether the interval of a row drawn by chance missed the truth.
    missed: bool,
    /// Test rows, and those whose interval holds the truth.
    tested: u64,
    inside: u64,
    /// Sums over the test rows: widths of intervals, squared distances from the mean.
    width: f64,
    square: f64,
}

/// Fits a model to some rows and looks at its intervals of others.
fn measure_one(set: &Dataset, name: &str, trial: u64) -> Result<Trial> {
    let mut rng = stream(trial, Purpose::Shuffle, 3);
    let mut order: Vec<usize> = (0..set.rows()).collect();
    order.shuffle(&mut rng);
    let (train, others) = order.split_at(ROWS);
    let test = &others[..others.len().min(TESTED)];
    let options = Options {
        label: LABEL.to_string(),
        target: Target::Numbers,
        seed: trial,
        ..Default::default()
    };
    let pipeline = Pipeline::fit(&some(set, train)?, None, &options)?.pipeline;
    let Task::Regression { coverage, .. } = pipeline.card().task else {
        anyhow::bail!("{name}: not a regression")
    };
    let test = some(set, test)?;
    let next = rng.random_range(0..test.rows());
    let truths: Vec<f64> =
        test.labels()?.iter().map(|label| label.parse()).collect::<Result<_, _>>()?;
    let mean = truths.iter().sum::<f64>() / truths.len() as f64;
    let mut found = Trial {
        promised: coverage >= COVERAGE,
        missed: false,
        tested: truths.len() as u64,
        inside: 0,
        width: 0.0,
        square: truths.iter().map(|truth| (truth - mean).powi(2)).sum(),
    };
    for (row, (answer, truth)) in pipeline.answer(&test)?.iter().zip(&truths).enumerate() {
        let Some(Outcome::Number { low: Some(low), high: Some(high), .. }) = answer.outcome else {
            anyhow::bail!("{name}: no interval: {answer:?}")
        };
        let hit = (low..=high).contains(truth);
        found.missed |= row == next && !hit;
        found.inside += u64::from(hit);
        found.width += high - low;
    }
    Ok(found)
}

/// The promises of intervals, by the fits that are there at the end.
pub fn measure(folder: &Path, log: &mut Log, end: Option<Instant>) -> Result<Vec<Kept>> {
    let sets = SETS.map(|(file, _)| {
        let path = folder.join(format!("{file}.csv"));
        let place = Place::parse(&path.display().to_string());
        Dataset::read(&place, Some(LABEL), true).with_context(|| file.to_string())
    });
    let sets = sets.into_iter().collect::<Result<Vec<_>>>()?;
    let mut trials: [Vec<Trial>; SETS.len()] = Default::default();
    // A trial of every set at a time: a part of them is one of all.
    for trial in 0..TRIALS {
        let known = SETS.iter().all(|(file, _)| log.knows(&key(file, trial)));
        if !known && end.is_some_and(|end| Instant::now() > end) {
            break;
        }
        eprintln!("interval fits: {trial} of {TRIALS}");
        for (index, (file, name)) in SETS.into_iter().enumerate() {
            trials[index]
                .push(log.remember(key(file, trial), || measure_one(&sets[index], name, trial))?);
        }
    }
    let all = SETS.iter().zip(&trials).filter(|(_, trials)| !trials.is_empty());
    Ok(all.map(|(&(_, name), trials)| kept(name, trials)).collect())
}

fn key(file: &str, trial: u64) -> String {
    format!("{file} {trial}")
}

fn kept(name: &str, trials: &[Trial]) -> Kept {
    let sum = |part: fn(&Trial) -> f64| trials.iter().map(part).sum::<f64>();
    let tested = sum(|t| t.tested as f64);
    let deviation = (sum(|t| t.square) / tested).sqrt();
    let promised = trials.iter().filter(|t| t.promised).count();
    let count = trials.len();
    Kept {
        set: name.to_string(),
        promise: format!("{} % inside ({promised} fits of {count} promise it)", 100.0 * COVERAGE),
        trials: count as u64,
        violated: trials.iter().filter(|t| t.missed).count() as u64,
        allowed: 1.0 - COVERAGE,
        cost: vec![
            ROWS.to_string(),
            format!("{:.4}", sum(|t| t.inside as f64) / tested),
            format!("{:.2}", sum(|t| t.width) / tested / deviation),
        ],
    }
}
