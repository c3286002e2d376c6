//! What a pipeline promises holds, and what no longer holds is not promised.

mod common;

use common::{CLASSES, numbers, problems, table, vectors};
use ndarray::Array2;
use sngp_pipeline::calibrate::Goal;
use sngp_pipeline::input::Dataset;
use sngp_pipeline::{Aim, Options, Outcome, Pipeline, Reason, Target, Task, Verdict};

fn labelled(rows: Array2<f32>) -> Dataset {
    let labels: Vec<&str> = (0..rows.nrows()).map(|i| CLASSES[i % 3]).collect();
    Dataset::of_vectors(rows.view()).unwrap().with_labels(labels).unwrap()
}

fn fitted() -> Pipeline {
    let options = Options { features: 128, ..Default::default() };
    Pipeline::fit(&labelled(vectors(3, 240)), None, &options).unwrap().pipeline
}

fn accepted(pipeline: &Pipeline, rows: &Dataset) -> usize {
    pipeline.answer(rows).unwrap().iter().filter(|answer| answer.is_accepted()).count()
}

#[test]
fn rows_it_learned_from_promise_nothing() {
    let mut pipeline = fitted();
    let goal = Goal::MaxError { share: 0.1, confidence: 0.9 };
    let error = pipeline.calibrate(&labelled(vectors(3, 240)), &goal, None).unwrap_err();
    assert!(error.to_string().contains("learned from all its rows"), "{error}");
    // Some of both: what it knows is left out, and said.
    let mixed = ndarray::concatenate![ndarray::Axis(0), vectors(3, 60), vectors(90, 120)];
    let calibrated = pipeline.calibrate(&labelled(mixed), &goal, None).unwrap();
    assert_eq!(calibrated.rows, 120);
    assert!(calibrated.remarks[0].starts_with("60 of 180 rows are left out"), "{calibrated:?}");
}

#[test]
fn the_distance_rule_stays_when_errors_are_bounded() {
    let mut pipeline = fitted();
    let fresh = labelled(vectors(91, 300));
    let goal = Goal::MaxError { share: 0.1, confidence: 0.9 };
    pipeline.calibrate(&fresh, &goal, None).unwrap();
    let decision = pipeline.decision().unwrap();
    assert_eq!(decision.score.name(), "max_probability");
    let distance = decision.distance.as_ref().expect("the second condition");
    assert_eq!(distance.score.name(), "variance");
    assert!(accepted(&pipeline, &fresh) > 250);
    // Along the direction of a class the network is as certain as can be.
    let far = labelled(30.0 * vectors(92, 60));
    assert_eq!(accepted(&pipeline, &far), 0);
}

#[test]
fn a_changed_posterior_settles_its_decision_anew() {
    let mut pipeline = fitted();
    let fresh = labelled(vectors(93, 300));
    pipeline.calibrate(&fresh, &Goal::MaxAbstain { share: 0.1 }, None).unwrap();
    let before = pipeline.decision().unwrap().clone();
    let more = pipeline.accumulate(&labelled(vectors(94, 900))).unwrap();
    pipeline.update(&more, None).unwrap();
    let after = pipeline.decision().unwrap().clone();
    let variance = |d: &sngp::model::Decision| d.distance.as_ref().unwrap().threshold;
    assert!(variance(&after) < variance(&before), "a posterior that knows more is surer");
    assert!(!pipeline.card().uncalibrated);
    // The share is what was asked for, under the new posterior too.
    let rejected = 600 - accepted(&pipeline, &labelled(vectors(95, 600)));
    assert!((30..=100).contains(&rejected), "{rejected} of 600");
    // Forgetting them leads back.
    pipeline.forget(&more).unwrap();
    let back = pipeline.decision().unwrap();
    assert!((back.threshold - before.threshold).abs() < 1e-6 * before.threshold.abs().max(1.0));
}

#[test]
fn what_was_never_learned_cannot_be_forgotten() {
    let mut pipeline = fitted();
    let part = pipeline.accumulate(&labelled(vectors(96, 30))).unwrap();
    let error = pipeline.forget(&part).unwrap_err().to_string();
    assert!(error.contains("30 of 30 rows were never learned from"), "{error}");
    pipeline.update(&part, None).unwrap();
    pipeline.forget(&part).unwrap();
    assert!(pipeline.forget(&part).is_err(), "once is enough");
}

#[test]
fn shards_add_up_and_count_once() {
    let mut pipeline = fitted();
    let part = |seed| pipeline.accumulate(&labelled(vectors(seed, 90))).unwrap().precisions;
    let (one, two) = (part(97), part(98));
    let both = ndarray::concatenate![ndarray::Axis(0), vectors(97, 90), vectors(98, 90)];
    let whole = pipeline.accumulate(&labelled(both)).unwrap().precisions;
    let error = pipeline.merge(&[one.clone(), two.clone(), one.clone()]).unwrap_err().to_string();
    assert!(error.contains("part 3 is there twice"), "{error}");
    assert_eq!(pipeline.merge(&[one, two]).unwrap(), 180);
    let merged = pipeline.model().precisions();
    let (a, b) = (merged[0].matrix(0), whole[0].matrix(0));
    let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let largest = a.iter().map(|value| value.abs()).fold(0.0, f64::max);
    assert!(apart <= 1e-6 * largest, "{apart} of {largest}");
}

/// Sentences are not kept with a model, so that its decision cannot be chosen anew.
#[test]
fn a_decision_that_cannot_be_kept_is_dropped_and_nothing_is_answered() {
    let problems = problems();
    let sentences = problems.iter().find(|problem| problem.name == "sentences").unwrap();
    let mut pipeline = sentences.fit("sngp").pipeline;
    let rows = Dataset::of_texts(["the cat sat on the mat"]);
    assert!(pipeline.answer(&rows).unwrap()[0].outcome.is_some());
    let part = pipeline.accumulate(&common::texts(30)).unwrap();
    pipeline.update(&part, Some(0.5)).unwrap();
    assert!(pipeline.card().uncalibrated);
    let answer = &pipeline.answer(&rows).unwrap()[0];
    assert_eq!(answer.verdict, Verdict::Abstained { why: Reason::NotCalibrated });
    let fresh = (0..60).map(|i| common::sentence(i).replace("minutes", "seconds") + " now");
    let labels: Vec<&str> = (0..60).map(|i| CLASSES[i % 3]).collect();
    let fresh = Dataset::of_texts(fresh).with_labels(labels).unwrap();
    pipeline.calibrate(&fresh, &Goal::MaxAbstain { share: 0.2 }, None).unwrap();
    assert!(!pipeline.card().uncalibrated);
}

#[test]
fn unknown_labels_are_counted_and_left_out() {
    let mut pipeline = fitted();
    let rows = vectors(99, 90);
    let labels = (0..90).map(|i| if i < 7 { "yew" } else { CLASSES[i % 3] });
    let set = Dataset::of_vectors(rows.view()).unwrap().with_labels(labels).unwrap();
    let goal = Goal::MaxError { share: 0.2, confidence: 0.9 };
    let calibrated = pipeline.calibrate(&set, &goal, None).unwrap();
    assert_eq!(calibrated.rows, 83);
    assert!(calibrated.remarks[0].contains("7 rows have labels that are no class here: `yew` (7)"));
}

#[test]
fn a_threshold_is_taken_as_it_is() {
    let mut pipeline = fitted();
    let fresh = labelled(vectors(100, 90));
    pipeline.calibrate(&fresh, &Goal::Threshold { value: -1.0 }, None).unwrap();
    assert_eq!(accepted(&pipeline, &fresh), 0);
    assert!(pipeline.calibrate(&fresh, &Goal::Threshold { value: f64::NAN }, None).is_err());
    assert!(
        matches!(pipeline.card().aim, Some(Aim::Threshold { .. })),
        "the failed one changed nothing"
    );
}

/// Nine of ten values lie in their interval, whatever rows chose the length scale.
#[test]
fn intervals_hold_what_they_promise() {
    let options = Options {
        label: "kind".to_string(),
        target: Target::Numbers,
        features: 64,
        ..Default::default()
    };
    let (mut inside, mut all) = (0, 0);
    for seed in 0..12 {
        let pipeline = Pipeline::fit(&numbers(200 + seed, 120), None, &options).unwrap().pipeline;
        let Task::Regression { coverage, .. } = pipeline.card().task else { panic!() };
        assert_eq!(coverage, 0.9);
        let test = numbers(300 + seed, 400);
        let answers = pipeline.answer(&test).unwrap();
        for (answer, truth) in answers.iter().zip(test.labels.as_ref().unwrap()) {
            let truth: f64 = truth.parse().unwrap();
            let Some(Outcome::Number { low: Some(low), high: Some(high), .. }) = answer.outcome
            else {
                panic!("{answer:?}")
            };
            inside += usize::from((low..=high).contains(&truth));
            all += 1;
        }
    }
    // Twelve held-out rows promise each time, so that the share varies by 8 % from one to the next.
    let share = inside as f64 / f64::from(all);
    assert!(share > 0.88, "{share}");
}

/// So few rows cannot promise nine of ten, and do not.
#[test]
fn few_rows_promise_little() {
    let options = Options {
        label: "kind".to_string(),
        target: Target::Numbers,
        features: 16,
        ..Default::default()
    };
    let pipeline = Pipeline::fit(&numbers(1, 20), None, &options).unwrap().pipeline;
    let Task::Regression { coverage, .. } = pipeline.card().task else { panic!() };
    assert!(coverage > 0.0 && coverage < 0.9, "{coverage}");
}

#[test]
fn columns_and_options_that_make_no_sense_are_named() {
    let set = table(1, 60);
    let options = |change: &dyn Fn(&mut Options<'_>)| {
        let mut options = Options { label: "kind".to_string(), ..Default::default() };
        change(&mut options);
        Pipeline::fit(&set, None, &options).err().expect("refused").to_string()
    };
    assert!(options(&|o| o.ignore = vec!["colur".into()]).contains("no column `colur`"));
    assert!(options(&|o| o.length_scale = Some(f64::NAN)).contains("length scale"));
    assert!(options(&|o| o.features = 1_000_000).contains("features"));
    assert!(options(&|o| o.epochs = Some(usize::MAX)).contains("epochs"));
    assert!(options(&|o| o.l2 = -1.0).contains("l2"));
}

/// Without hashes of what it learned from, a model forgets nothing and says what it cannot check.
#[test]
fn a_model_that_keeps_no_hashes_says_so() {
    let mut pipeline = fitted();
    let part = |seed| pipeline.accumulate(&labelled(vectors(seed, 90))).unwrap();
    let (one, two) = (part(97), part(98));
    pipeline.merge(&[one.precisions.clone(), two.precisions]).unwrap();
    let error = pipeline.forget(&one).unwrap_err().to_string();
    assert!(error.contains("nothing can be forgotten: the model keeps no hashes"), "{error}");
    let goal = Goal::MaxAbstain { share: 0.1 };
    let calibrated = pipeline.calibrate(&labelled(vectors(102, 90)), &goal, None).unwrap();
    assert!(calibrated.remarks[0].starts_with("make sure that the model has not learned"));
}

#[test]
fn a_threshold_is_told_for_each_class() {
    let mut pipeline = fitted();
    let fresh = labelled(vectors(103, 300));
    let goal = Goal::MaxAbstain { share: 0.2 };
    let calibrated = pipeline.calibrate(&fresh, &goal, None).unwrap();
    assert_eq!(calibrated.classes.iter().map(|c| c.label.as_str()).collect::<Vec<_>>(), CLASSES);
    let sum = |of: fn(&sngp_pipeline::calibrate::ClassCoverage) -> usize| {
        calibrated.classes.iter().map(of).sum::<usize>()
    };
    assert_eq!((sum(|c| c.rows), sum(|c| c.accepted)), (300, accepted(&pipeline, &fresh)));
    let threshold = pipeline.decision().unwrap().threshold;
    let common = sum(|c| c.accepted) as f64 / 300.0;
    for class in &calibrated.classes {
        // A class of which less is accepted than of all needs a larger threshold, and the reverse.
        let own = class.threshold.unwrap();
        assert!((own > threshold) == (class.coverage < common), "{class:?} {threshold}");
    }
}
