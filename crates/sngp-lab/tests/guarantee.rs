//! The promise of `--max-error` on real data, over many random splits.

use std::io::Write;
use std::path::PathBuf;

use burn::tensor::Device;
use rand::seq::SliceRandom;
use sngp::model::{Decision, Outcome};
use sngp::score::{MaxProbability, Score};
use sngp::seed::{Purpose, stream};
use sngp::train::{Interrupter, Silent};
use sngp_lab::own::{Dataset, Kind, Place, TrainOptions, outcomes, train};

const SPLITS: u64 = 200;
const CALIBRATION: usize = 2000;
const MAX_ERROR: f64 = 0.02;
const CONFIDENCE: f64 = 0.95;

#[test]
fn errors_stay_below_the_promise_and_little_coverage_is_lost() {
    let Some(data) = std::env::var_os("SNGP_DATA").map(PathBuf::from) else {
        // Not captured, so that nobody takes a skipped test for a passed one.
        let _ = writeln!(std::io::stderr(), "skipped: SNGP_DATA is not set");
        return;
    };
    let file = data.join("embeddings/clinc_minilm.npz");
    let read = |vectors: &str, labels: &str| {
        let (vectors, labels) = (Some(vectors.to_string()), Some(labels.to_string()));
        Dataset::read(&Place { path: file.clone(), vectors, labels }, None, true).unwrap()
    };
    let options = TrainOptions {
        kind: Kind::Vectors("train_x".to_string()),
        label: "train_y".to_string(),
        ignore: Vec::new(),
        regression: false,
        method: "sngp".parse().unwrap(),
        features: 1024,
        length_scale: None,
        l2: 0.02,
        epochs: 1,
        encoder: None,
        fine_tune: false,
        max_tokens: 64,
        image_size: 32,
        seed: 0,
        device: &Device::flex(),
        interrupter: Interrupter::new(),
        observe: &|_| Box::new(Silent),
    };
    let model = train(&read("train_x", "train_y"), None, &options).unwrap().model;
    let score = Score::from(MaxProbability {});
    let mut all: Vec<Outcome> = outcomes(&model, &read("val_x", "val_y"), &score).unwrap();
    all.extend(outcomes(&model, &read("test_x", "test_y"), &score).unwrap());

    let (mut violated, mut lost) = (0, 0.0);
    for split in 0..SPLITS {
        let mut order = all.clone();
        order.shuffle(&mut stream(split, Purpose::Shuffle, 0));
        let (calibration, test) = order.split_at(CALIBRATION);
        let rule = Decision::with_error_at_most(MAX_ERROR, CONFIDENCE, score.clone(), calibration)
            .unwrap();
        let (accepted, wrong) = at(test, rule.threshold);
        violated += usize::from(wrong as f64 > MAX_ERROR * accepted as f64);
        lost += best_coverage(test) - accepted as f64 / test.len() as f64;
    }
    let lost = lost / SPLITS as f64;
    let _ = writeln!(
        std::io::stderr(),
        "{violated} of {SPLITS} splits violate {MAX_ERROR} at confidence {CONFIDENCE}; \
         {:.2} points of coverage lost on average",
        100.0 * lost
    );
    // 5 % are promised of the rule's true error. What is counted here is the error on a finite
    // test set, which for a rule just below the limit is above it half of the time.
    let promised = (1.0 - CONFIDENCE) * SPLITS as f64;
    assert!((violated as f64) < promised + 3.0 * (promised * CONFIDENCE).sqrt(), "{violated}");
    // The goal is 3 points; 3.02 are lost with these settings. Beyond 3.5 something is wrong.
    assert!(lost < 0.035, "{lost}");
}

fn at(rows: &[Outcome], threshold: f64) -> (usize, usize) {
    let accepted = rows.iter().filter(|row| row.uncertainty <= threshold);
    accepted.fold((0, 0), |(n, wrong), row| (n + 1, wrong + usize::from(!row.correct)))
}

/// The coverage of the best threshold in hindsight.
fn best_coverage(rows: &[Outcome]) -> f64 {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| a.uncertainty.total_cmp(&b.uncertainty));
    let mut wrong = 0;
    let mut best = 0;
    for (index, row) in sorted.iter().enumerate() {
        wrong += usize::from(!row.correct);
        if wrong as f64 <= MAX_ERROR * (index + 1) as f64 {
            best = index + 1;
        }
    }
    best as f64 / rows.len() as f64
}
