//! Bounded errors and bounded abstention of classifiers.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rand::RngExt;
use sngp::metrics::conformal_quantile;
use sngp::model::{Decision, Outcome};
use sngp::score::{MaxProbability, Score, Variance};
use sngp::seed::{Purpose, Rng, stream};
use sngp_pipeline::calibrate::Goal;
use sngp_pipeline::fit::known_rows;
use sngp_pipeline::input::{Body, Dataset, Place, Prepared};
use sngp_pipeline::{Options, Pipeline};

use crate::log::Log;
use crate::{Kept, TRIALS};

const CONFIDENCE: f64 = 0.95;
const MAX_ERRORS: [f64; 2] = [0.02, 0.05];
const MAX_ABSTAIN: f64 = 0.1;
/// Trials whose calibration is also made by the pipeline itself.
const CHECKED: u64 = 3;
/// The share of rows that the distance rule may reject.
const FAR: f64 = 0.01;
/// Rows that calibrate a bounded abstention.
const ABSTAIN_ROWS: usize = 500;
/// Rows that are asked after a calibration; the first of them breaks a promise or keeps it.
const NEXT: usize = 500;

/// A set: where it is learned from, and the files of its population.
struct Set {
    name: &'static str,
    train: &'static str,
    population: &'static [&'static str],
    label: &'static str,
    /// Rows that calibrate.
    rows: usize,
}

const SETS: [Set; 3] = [
    Set {
        name: "CLINC-150, MiniLM vectors",
        train: "embeddings/clinc_minilm.npz:train_x:train_y",
        population: &[
            "embeddings/clinc_minilm.npz:val_x:val_y",
            "embeddings/clinc_minilm.npz:test_x:test_y",
        ],
        label: "label",
        rows: 2000,
    },
    Set {
        name: "banking77, n-grams",
        train: "banking77/train.csv",
        population: &["banking77/test.csv"],
        label: "category",
        rows: 1000,
    },
    Set {
        name: "StackOverflow, n-grams",
        train: "stackoverflow/train.tsv",
        population: &["stackoverflow/dev.tsv", "stackoverflow/test.tsv"],
        label: "label",
        rows: 2000,
    },
];

/// What a model makes of a row.
#[derive(Clone, Copy)]
struct Row {
    /// By the maximum probability; infinite where the guard rejects.
    score: f64,
    variance: f64,
    correct: bool,
}

/// A model and everything it could be asked.
struct Population {
    pipeline: Pipeline,
    sets: Vec<Dataset>,
    /// The set and the place in it of each row.
    places: Vec<(usize, usize)>,
    rows: Vec<Row>,
}

impl Population {
    fn read(set: &Set, data: &Path) -> Result<Self> {
        let read = |file: &str| {
            let place = Place::parse(&data.join(file).display().to_string());
            Dataset::read(&place, Some(set.label), true).with_context(|| file.to_string())
        };
        let options = Options { label: set.label.to_string(), ..Default::default() };
        let train = read(set.train)?;
        let pipeline = Pipeline::fit(&train, None, &options)?.pipeline;
        // What the model has learned from it does not calibrate on.
        let all: Vec<usize> = (0..train.rows()).collect();
        let learned: HashSet<Vec<u32>> =
            keys(&pipeline.card().preparation.prepare_all(&train, &all)?).into_iter().collect();
        let sets = set.population.iter().map(|file| read(file)).collect::<Result<Vec<_>>>()?;
        let (mut places, mut rows) = (Vec::new(), Vec::new());
        for (index, set) in sets.iter().enumerate() {
            let known = known_rows(set.labels()?, pipeline.labels());
            let inputs = pipeline.card().preparation.prepare_all(set, &known.rows)?;
            let keys = keys(&inputs);
            let prediction = pipeline.predict(&inputs)?;
            let score = Score::from(MaxProbability {});
            let scores = pipeline.rejection_scores(&score, None, &inputs)?;
            let variance = Score::from(Variance {}).evaluate(&prediction)?;
            let found = prediction.labels()?;
            for (i, &row) in known.rows.iter().enumerate() {
                if learned.contains(&keys[i]) {
                    continue;
                }
                places.push((index, row));
                rows.push(Row {
                    score: scores[i],
                    variance: variance[i],
                    correct: found[i] == known.classes[i],
                });
            }
        }
        Ok(Self { pipeline, sets, places, rows })
    }

    /// The rows of a population as a data set.
    fn data(&self, drawn: &[usize]) -> Result<Dataset> {
        let label = |&row: &usize| {
            let (set, place) = self.places[row];
            Ok(self.sets[set].labels()?[place].clone())
        };
        let labels = drawn.iter().map(label).collect::<Result<Vec<String>>>()?;
        let (mut names, mut cells, mut vectors, mut one) = (vec![], vec![], vec![], vec![]);
        for &row in drawn {
            let (set, place) = self.places[row];
            match &self.sets[set].body {
                Body::Rows { names: columns, rows } => {
                    names.clone_from(columns);
                    cells.push(rows[place].clone());
                }
                Body::Vectors { matrix, .. } => {
                    matrix.read_rows(place, 1, &mut one);
                    vectors.extend_from_slice(&one);
                }
                Body::Pictures { .. } => anyhow::bail!("no set has images"),
            }
        }
        let set = if vectors.is_empty() {
            Dataset::of_cells(names, cells)?
        } else {
            let width = vectors.len() / drawn.len();
            let vectors = ndarray::Array2::from_shape_vec((drawn.len(), width), vectors)?;
            Dataset::of_vectors(vectors.view())?
        };
        Ok(set.with_labels(labels)?)
    }

    /// The largest variance that the distance rule accepts, by some rows.
    fn far(&self, rows: &[usize]) -> Result<f64> {
        let variances: Vec<f64> = rows.iter().map(|&row| self.rows[row].variance).collect();
        Ok(conformal_quantile(&variances, 1.0 - FAR)?.unwrap_or(f64::INFINITY))
    }

    /// The uncertainty and the correctness of a row.
    fn outcome(&self, row: usize, far: f64) -> Outcome {
        let Row { score, variance, correct } = self.rows[row];
        let uncertainty = if variance <= far { score } else { f64::INFINITY };
        Outcome { uncertainty, correct }
    }

    /// What a decision comes to on all rows: error and coverage.
    fn judge(&self, far: f64, threshold: f64) -> (f64, f64) {
        let accepted = (0..self.rows.len())
            .map(|row| self.outcome(row, far))
            .filter(|outcome| outcome.uncertainty <= threshold);
        let (count, wrong) = accepted.fold((0usize, 0usize), |(count, wrong), outcome| {
            (count + 1, wrong + usize::from(!outcome.correct))
        });
        (wrong as f64 / count.max(1) as f64, count as f64 / self.rows.len() as f64)
    }

    /// The largest coverage with at most this error, all rows being known.
    fn hindsight(&self, max_error: f64) -> Result<f64> {
        let all: Vec<usize> = (0..self.rows.len()).collect();
        let far = self.far(&all)?;
        let mut outcomes: Vec<Outcome> = all.iter().map(|&row| self.outcome(row, far)).collect();
        outcomes.retain(|outcome| outcome.uncertainty.is_finite());
        outcomes.sort_by(|a, b| a.uncertainty.total_cmp(&b.uncertainty));
        let (mut wrong, mut best) = (0usize, 0);
        for (index, outcome) in outcomes.iter().enumerate() {
            wrong += usize::from(!outcome.correct);
            if wrong as f64 <= max_error * (index + 1) as f64 {
                best = index + 1;
            }
        }
        Ok(best as f64 / self.rows.len() as f64)
    }

    /// The pipeline's own calibration gives the same rule: what is measured is what is shipped.
    fn check(
        &mut self,
        drawn: &[usize],
        goal: &Goal,
        found: &Result<Decision, sngp::Error>,
        far: f64,
    ) -> Result<()> {
        let data = self.data(drawn)?;
        let made = self.pipeline.calibrate(&data, goal, None);
        let Ok(found) = found else {
            ensure!(made.is_err(), "the pipeline found a rule: {goal:?}");
            return Ok(());
        };
        made?;
        let own = self.pipeline.decision().context("no decision")?;
        let distance = own.distance.as_ref().map_or(f64::INFINITY, |condition| condition.threshold);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * a.abs().max(1e-3);
        ensure!(
            near(own.threshold, found.threshold) && near(distance, far),
            "{goal:?}: the pipeline decides by {} and {distance}, not {} and {far}",
            own.threshold,
            found.threshold
        );
        Ok(())
    }
}

/// Prepared rows by their bits.
fn keys(inputs: &Prepared) -> Vec<Vec<u32>> {
    match inputs {
        Prepared::Vectors(vectors) => {
            let row = |row: ndarray::ArrayView1<'_, f32>| row.iter().map(|v| v.to_bits()).collect();
            vectors.outer_iter().map(row).collect()
        }
        Prepared::Encoded(encoded) => {
            let halves = |&hash: &u64| vec![hash as u32, (hash >> 32) as u32];
            encoded.hashes.iter().map(halves).collect()
        }
        Prepared::Texts(texts) => {
            texts.iter().map(|text| text.chars().map(u32::from).collect()).collect()
        }
    }
}

fn draw(rng: &mut Rng, population: usize, rows: usize) -> Vec<usize> {
    (0..rows).map(|_| rng.random_range(0..population)).collect()
}

/// The promise of a bounded error.
fn bounded_error(set: &Set, population: &mut Population, max_error: f64) -> Result<Kept> {
    let (mut violated, mut coverage) = (0, 0.0);
    for trial in 0..TRIALS {
        let mut rng = stream(trial, Purpose::Shuffle, 1);
        let drawn = draw(&mut rng, population.rows.len(), set.rows);
        let far = population.far(&drawn)?;
        let outcomes: Vec<Outcome> =
            drawn.iter().map(|&row| population.outcome(row, far)).collect();
        let score = Score::from(MaxProbability {});
        let rule = Decision::with_error_at_most(max_error, CONFIDENCE, score, &outcomes);
        if trial < CHECKED {
            let goal = Goal::MaxError { share: max_error, confidence: CONFIDENCE };
            population.check(&drawn, &goal, &rule, far)?;
        }
        // Where nothing is promised nothing is broken, and nothing accepted.
        let Ok(rule) = rule else { continue };
        let (error, covered) = population.judge(far, rule.threshold);
        violated += u64::from(error > max_error);
        coverage += covered / TRIALS as f64;
    }
    let best = population.hindsight(max_error)?;
    let cost = [
        format!("{}", set.rows),
        format!("{coverage:.3}"),
        format!("{best:.3}"),
        format!("{:.3}", best - coverage),
    ];
    let promise = format!("at most {} % wrong", 100.0 * max_error);
    Ok(Kept {
        set: set.name.to_string(),
        promise,
        trials: TRIALS,
        violated,
        allowed: 1.0 - CONFIDENCE,
        cost: cost.into(),
    })
}

/// The promise of bounded abstention.
fn bounded_abstention(set: &Set, population: &mut Population) -> Result<Kept> {
    let (mut violated, mut rejected) = (0, 0.0);
    for trial in 0..TRIALS {
        let mut rng = stream(trial, Purpose::Shuffle, 2);
        let drawn = draw(&mut rng, population.rows.len(), ABSTAIN_ROWS);
        let next = draw(&mut rng, population.rows.len(), NEXT);
        // The default score is refitted to what calibrates: only the pipeline itself knows.
        let data = population.data(&drawn)?;
        let goal = Goal::MaxAbstain { share: MAX_ABSTAIN };
        population.pipeline.calibrate(&data, &goal, None)?;
        let answers = population.pipeline.answer(&population.data(&next)?)?;
        violated += u64::from(!answers[0].is_accepted());
        let accepted = answers.iter().filter(|answer| answer.is_accepted()).count();
        rejected += (NEXT - accepted) as f64 / (NEXT as u64 * TRIALS) as f64;
    }
    let promise = format!("at most {} % rejected", 100.0 * MAX_ABSTAIN);
    let cost = vec![ABSTAIN_ROWS.to_string(), format!("{rejected:.4}")];
    let set = set.name.to_string();
    Ok(Kept { set, promise, trials: TRIALS, violated, allowed: MAX_ABSTAIN, cost })
}

/// The promises of bounded errors, and those of bounded abstention.
pub fn measure(data: &Path, log: &mut Log) -> Result<(Vec<Kept>, Vec<Kept>)> {
    let (mut errors, mut abstentions) = (Vec::new(), Vec::new());
    for set in &SETS {
        eprintln!("{}", set.name);
        let (error, abstention) = log.remember(set.name.to_string(), || {
            let mut population = Population::read(set, data)?;
            let errors = MAX_ERRORS.map(|share| bounded_error(set, &mut population, share));
            let errors = errors.into_iter().collect::<Result<Vec<_>>>()?;
            Ok((errors, bounded_abstention(set, &mut population)?))
        })?;
        errors.extend(error);
        abstentions.push(abstention);
    }
    Ok((errors, abstentions))
}
