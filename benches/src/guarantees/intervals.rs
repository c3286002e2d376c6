//! Intervals of regressions.

use std::path::Path;

use anyhow::{Context, Result};
use rand::RngExt;
use rand::seq::SliceRandom;
use sngp::seed::{Purpose, stream};
use sngp_pipeline::input::{Body, Dataset, Place};
use sngp_pipeline::{Options, Outcome, Pipeline, Target, Task};

use crate::{Kept, TRIALS};

const SETS: [(&str, &str); 3] =
    [("boston", "Boston housing"), ("concrete", "concrete"), ("yacht", "yacht")];
const LABEL: &str = "y";
const COVERAGE: f64 = 0.9;
const FEATURES: usize = 128;

/// Some rows of a table.
fn some(set: &Dataset, chosen: &[usize]) -> Result<Dataset> {
    let Body::Rows { names, rows } = &set.body else { anyhow::bail!("a table is needed") };
    let rows = chosen.iter().map(|&row| rows[row].clone()).collect();
    Ok(Dataset::of_cells(names.clone(), rows)?.with_label_column(LABEL)?)
}

/// The promises of intervals.
pub fn measure(folder: &Path) -> Result<Vec<Kept>> {
    let mut all = Vec::new();
    for (file, name) in SETS {
        eprintln!("{name}");
        let path = folder.join(format!("{file}.csv"));
        let place = Place::parse(&path.display().to_string());
        let set = Dataset::read(&place, Some(LABEL), true).with_context(|| file.to_string())?;
        let (mut violated, mut inside, mut tested, mut width, mut square) =
            (0, 0u64, 0u64, 0.0, 0.0);
        let mut promised = 0;
        for trial in 0..TRIALS {
            let mut rng = stream(trial, Purpose::Shuffle, 3);
            let mut order: Vec<usize> = (0..set.rows()).collect();
            order.shuffle(&mut rng);
            let (test, train) = order.split_at(set.rows() / 10);
            let options = Options {
                label: LABEL.to_string(),
                target: Target::Numbers,
                features: FEATURES,
                seed: trial,
                ..Default::default()
            };
            let pipeline = Pipeline::fit(&some(&set, train)?, None, &options)?.pipeline;
            let Task::Regression { coverage, .. } = pipeline.card().task else { continue };
            promised += u64::from(coverage >= COVERAGE);
            let test = some(&set, test)?;
            let next = rng.random_range(0..test.rows());
            let truths: Vec<f64> =
                test.labels()?.iter().map(|label| label.parse()).collect::<Result<_, _>>()?;
            let mean = truths.iter().sum::<f64>() / truths.len() as f64;
            for (row, (answer, truth)) in pipeline.answer(&test)?.iter().zip(&truths).enumerate() {
                let Some(Outcome::Number { low: Some(low), high: Some(high), .. }) = answer.outcome
                else {
                    anyhow::bail!("{name}: no interval: {answer:?}")
                };
                let hit = (low..=high).contains(truth);
                violated += u64::from(row == next && !hit);
                inside += u64::from(hit);
                tested += 1;
                width += high - low;
                square += (truth - mean).powi(2);
            }
        }
        let deviation = (square / tested as f64).sqrt();
        let cost = vec![
            set.rows().to_string(),
            format!("{:.4}", inside as f64 / tested as f64),
            format!("{:.2}", width / tested as f64 / deviation),
        ];
        let promise =
            format!("{} % inside ({promised} fits of {TRIALS} promise it)", 100.0 * COVERAGE);
        all.push(Kept { set: name, promise, violated, allowed: 1.0 - COVERAGE, cost });
    }
    Ok(all)
}
