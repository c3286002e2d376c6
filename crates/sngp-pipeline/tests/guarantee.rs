//! The promise of a bounded error on real data, over many random splits, and what is accepted of rows
//! that no such promise is about.

use std::io::Write;
use std::path::PathBuf;

use rand::RngExt;
use sngp::model::{Decision, Outcome};
use sngp::score::{MaxProbability, Score};
use sngp::seed::{Purpose, stream};
use sngp_pipeline::calibrate::Goal;
use sngp_pipeline::fit::known_rows;
use sngp_pipeline::input::{Dataset, Place};
use sngp_pipeline::{Options, Pipeline};

const TRIALS: u64 = 400;
const CALIBRATION: usize = 2000;
const CONFIDENCE: f64 = 0.95;

/// A reader of CLINC's vectors, where they are at hand.
fn clinc() -> Option<impl Fn(&str, Option<&str>) -> Dataset> {
    let Some(data) = std::env::var_os("SNGP_DATA").map(PathBuf::from) else {
        // Not captured, so that nobody takes a skipped test for a passed one.
        let _ = writeln!(std::io::stderr(), "skipped: SNGP_DATA is not set");
        return None;
    };
    let path = data.join("embeddings/clinc_minilm.npz");
    Some(move |vectors: &str, labels: Option<&str>| {
        let (vectors, labels) = (Some(vectors.to_string()), labels.map(str::to_string));
        let is_labelled = labels.is_some();
        Dataset::read(&Place { path: path.clone(), vectors, labels }, None, is_labelled).unwrap()
    })
}

/// How certain and how right a pipeline is about every row of a set.
fn outcomes(pipeline: &Pipeline, set: &Dataset) -> Vec<Outcome> {
    let known = known_rows(set.labels().unwrap(), pipeline.labels());
    let inputs = pipeline.card().preparation.prepare_all(set, &known.rows).unwrap();
    let distance = pipeline.decision().and_then(|decision| decision.distance.as_ref());
    let score = Score::from(MaxProbability {});
    let scores = pipeline.rejection_scores(&score, distance, &inputs).unwrap();
    let found = pipeline.predict(&inputs).unwrap().labels().unwrap();
    let rows = scores.into_iter().zip(found).zip(known.classes);
    rows.map(|((uncertainty, found), class)| Outcome { uncertainty, correct: found == class })
        .collect()
}

/// The rows are the whole population, and what calibrates is drawn from it: so the error of a rule
/// is known exactly, and is above what was promised in no more than one trial of twenty.
#[test]
fn errors_stay_below_the_promise_and_little_coverage_is_lost() {
    let Some(read) = clinc() else { return };
    let train = read("train_x", Some("train_y"));
    let mut pipeline = Pipeline::fit(&train, None, &Options::default()).unwrap().pipeline;
    let mut all = outcomes(&pipeline, &read("val_x", Some("val_y")));
    all.extend(outcomes(&pipeline, &read("test_x", Some("test_y"))));
    let error = |threshold: f64| {
        let accepted: Vec<&Outcome> = all.iter().filter(|o| o.uncertainty <= threshold).collect();
        let wrong = accepted.iter().filter(|o| !o.correct).count();
        (wrong as f64 / accepted.len().max(1) as f64, accepted.len() as f64 / all.len() as f64)
    };
    for max_error in [0.02, 0.05] {
        let (mut violated, mut coverage) = (0u32, 0.0);
        for trial in 0..TRIALS {
            let mut rng = stream(trial, Purpose::Shuffle, 0);
            let drawn: Vec<Outcome> =
                (0..CALIBRATION).map(|_| all[rng.random_range(0..all.len())]).collect();
            let score = Score::from(MaxProbability {});
            let rule = Decision::with_error_at_most(max_error, CONFIDENCE, score, &drawn);
            // Where nothing can be promised, nothing is broken.
            let Ok(rule) = rule else { continue };
            let (error, covered) = error(rule.threshold);
            violated += u32::from(error > max_error);
            coverage += covered / TRIALS as f64;
        }
        // At a rate of one in twenty, 33 or more of 400 have a chance of less than 1 %.
        assert!(violated <= 32, "{max_error}: {violated} of {TRIALS}");
        let mut thresholds: Vec<f64> = all.iter().map(|o| o.uncertainty).collect();
        thresholds.sort_by(f64::total_cmp);
        let best = thresholds.iter().rev().find(|&&t| t.is_finite() && error(t).0 <= max_error);
        let best = error(*best.unwrap()).1;
        let _ = writeln!(
            std::io::stderr(),
            "{max_error} at confidence {CONFIDENCE}: {violated} of {TRIALS} violated; coverage \
             {coverage:.4} of {best:.4} in hindsight"
        );
        assert!(best - coverage < 0.03, "{max_error}: {coverage} of {best}");
    }
    few_sentences_out_of_scope_are_accepted(&mut pipeline, &read);
}

/// So large an error is reached by answering nearly everything: the threshold of the probability keeps
/// next to nothing out, so the distance rule has to.
fn few_sentences_out_of_scope_are_accepted(
    pipeline: &mut Pipeline,
    read: &impl Fn(&str, Option<&str>) -> Dataset,
) {
    let test = read("test_x", Some("test_y"));
    pipeline
        .calibrate(&test, &Goal::MaxError { share: 0.05, confidence: CONFIDENCE }, None)
        .unwrap();
    let accepted = |rows: &Dataset| {
        let answers = pipeline.answer(rows).unwrap();
        answers.iter().filter(|answer| answer.is_accepted()).count() as f64 / answers.len() as f64
    };
    let (known, strange) = (accepted(&test), accepted(&read("oos_test_x", None)));
    let _ = writeln!(std::io::stderr(), "accepted: {known:.4} in scope, {strange:.4} out of scope");
    assert!(known > 0.95 && strange < 0.25, "{known} in scope, {strange} out of scope");
}
