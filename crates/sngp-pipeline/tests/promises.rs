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
fn training_rows_validate_nothing() {
    let options = Options { features: 64, ..Default::default() };
    let fit = |validation: Array2<f32>| {
        Pipeline::fit(&labelled(vectors(3, 120)), Some(&labelled(validation)), &options)
    };
    let error = fit(vectors(3, 120)).err().unwrap().to_string();
    assert!(error.contains("training rows only"), "{error}");
    let mixed = ndarray::concatenate![ndarray::Axis(0), vectors(3, 30), vectors(90, 60)];
    let fitted = fit(mixed).unwrap();
    let said =
        fitted.remarks.iter().any(|remark| remark.starts_with("30 of 90 rows of the validation"));
    assert!(said, "{:?}", fitted.remarks);
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
    assert_eq!(distance.score.name(), "combined");
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
    assert!(error.contains("30 of 30 rows are not in the posterior"), "{error}");
    pipeline.update(&part, None).unwrap();
    pipeline.forget(&part).unwrap();
    assert!(pipeline.forget(&part).is_err(), "once is enough");
}

/// What only chose thresholds is not in the posterior, and of what has faded a part is left: taking
/// either out whole would leave a variance that no posterior has.
#[test]
fn held_out_and_faded_rows_cannot_be_forgotten() {
    let (data, validation) = (labelled(vectors(1, 200)), labelled(vectors(2, 120)));
    let options = Options { features: 128, ..Default::default() };
    let mut pipeline = Pipeline::fit(&data, Some(&validation), &options).unwrap().pipeline;
    let held_out = pipeline.accumulate(&validation).unwrap();
    let error = pipeline.forget(&held_out).unwrap_err().to_string();
    assert!(error.contains("120 of 120 rows are not in the posterior"), "{error}");
    let learned = pipeline.accumulate(&data).unwrap();
    let more = pipeline.accumulate(&labelled(vectors(3, 40))).unwrap();
    pipeline.update(&more, Some(0.5)).unwrap();
    let error = pipeline.forget(&learned).unwrap_err().to_string();
    assert!(error.contains("200 of 200 rows are not in the posterior"), "{error}");
    pipeline.forget(&more).unwrap();
    // Still nothing that the model knows calibrates it.
    let goal = Goal::MaxAbstain { share: 0.1 };
    assert!(pipeline.calibrate(&validation, &goal, None).is_err());
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
    assert!(options(&|o| o.l2 = Some(-1.0)).contains("l2"));
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

fn probabilities(pipeline: &Pipeline, rows: &Dataset) -> Vec<(usize, f64)> {
    let class = |answer: sngp_pipeline::Answer| match answer.outcome {
        Some(Outcome::Class { index, probability, .. }) => (index, probability),
        other => panic!("{other:?}"),
    };
    pipeline.answer(rows).unwrap().into_iter().map(class).collect()
}

#[test]
fn minimax_probabilities_go_to_uniform_and_nothing_else_changes() {
    let mut pipeline = fitted();
    let (held_out, fresh) = (labelled(vectors(120, 600)), labelled(vectors(121, 300)));
    let far = labelled(-30.0 * vectors(122, 60));
    let strip = |rows: &Dataset, pipeline: &Pipeline| {
        let answers = pipeline.answer(rows).unwrap().into_iter();
        answers.map(|a| (a.verdict, a.uncertainty, a.p_value)).collect::<Vec<_>>()
    };
    pipeline.calibrate(&held_out, &Goal::MaxAbstain { share: 0.1 }, None).unwrap();
    let before = (probabilities(&pipeline, &fresh), strip(&fresh, &pipeline));
    let far_before = (probabilities(&pipeline, &far), strip(&far, &pipeline));
    pipeline.use_minimax(&held_out).unwrap();
    assert!(pipeline.card().minimax.is_some());
    let after = probabilities(&pipeline, &fresh);
    assert_eq!(strip(&fresh, &pipeline), before.1);
    assert_eq!(strip(&far, &pipeline), far_before.1);
    let mean = |rows: &[(usize, f64)]| rows.iter().map(|r| r.1).sum::<f64>() / rows.len() as f64;
    for (before, after) in before.0.iter().zip(&after) {
        assert_eq!(before.0, after.0, "the class stays");
        assert!(after.1 <= before.1 && after.1 >= 1.0 / 3.0, "{before:?} {after:?}");
    }
    assert!(mean(&before.0) - mean(&after) < 0.02, "{} {}", mean(&before.0), mean(&after));
    for (far, before) in probabilities(&pipeline, &far).into_iter().zip(far_before.0) {
        assert_eq!(far.0, before.0);
        assert!(far.1 < 0.34, "{far:?}");
    }
    // It is saved, and every way to predict says the same.
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("model");
    pipeline.save(&folder).unwrap();
    let mut loaded = Pipeline::load(&folder, &burn::tensor::Device::flex()).unwrap();
    assert_eq!(probabilities(&loaded, &fresh), after);
    loaded.use_own_probabilities();
    assert_eq!(probabilities(&loaded, &fresh), before.0);
    // A model that has changed goes by what its scores are like now.
    let more = pipeline.accumulate(&labelled(vectors(123, 900))).unwrap();
    pipeline.update(&more, None).unwrap();
    assert!(pipeline.card().minimax.is_some());
    assert!(probabilities(&pipeline, &far).iter().all(|row| row.1 < 0.34));
}

#[test]
fn numbers_have_no_minimax_and_no_classes() {
    let options = Options { target: Target::Numbers, label: "kind".into(), ..Default::default() };
    let data = numbers(7, 200);
    let mixed = Options { minimax: true, ..options.clone() };
    assert!(Pipeline::fit(&data, None, &mixed).is_err());
    let mut pipeline = Pipeline::fit(&data, None, &options).unwrap().pipeline;
    assert!(pipeline.use_minimax(&numbers(8, 100)).is_err());
    let goal = Goal::PerClass(Box::new(Goal::MaxAbstain { share: 0.1 }));
    let error = pipeline.calibrate(&numbers(8, 100), &goal, None).unwrap_err().to_string();
    assert!(error.contains("no classes"), "{error}");
    assert!(pipeline.flags_of(0.1, &[]).unwrap_err().to_string().contains("no p-values"));
}

#[test]
fn few_flags_are_false_or_none_is_given() {
    let mut pipeline = fitted();
    // 48 rows were held out: their p-values are not exact.
    let error = pipeline.flags_of(0.1, &[]).unwrap_err().to_string();
    assert!(error.contains("at least 400 rows"), "{error}");
    let goal = Goal::MaxAbstain { share: 0.1 };
    pipeline.calibrate(&labelled(vectors(130, 300)), &goal, None).unwrap();
    assert!(pipeline.flags_of(0.1, &[]).is_err(), "300 are too few");
    // Over many held-out sets: a tenth of the flagged ones at the most is of the domain.
    let near = pipeline.answer(&labelled(vectors(131, 150))).unwrap().len();
    let mut shares = Vec::new();
    for seed in 0..40 {
        pipeline.calibrate(&labelled(vectors(200 + seed, 420)), &goal, None).unwrap();
        let mut answers = pipeline.answer(&labelled(vectors(300 + seed, near))).unwrap();
        answers.extend(pipeline.answer(&labelled(-1.0 * vectors(400 + seed, 50))).unwrap());
        let flags = pipeline.flags(0.1, &answers).unwrap();
        answers.iter_mut().for_each(|answer| flags.apply(answer));
        let flagged = |rows: &[sngp_pipeline::Answer]| {
            rows.iter().filter(|answer| answer.flagged == Some(true)).count()
        };
        assert_eq!(flagged(&answers), flags.flagged);
        assert!(answers.iter().all(|a| a.flagged != Some(true) || !a.is_accepted()));
        let falsely = flagged(&answers[..near]);
        shares.push(falsely as f64 / flags.flagged.max(1) as f64);
        assert!(flagged(&answers[near..]) > 10, "{flags:?}");
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let spread = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>();
    let error = spread.sqrt() / shares.len() as f64;
    assert!(mean <= 0.1 * 0.75 + 3.0 * error, "{mean} +- {error}");
    // What is saved can still be promised; what changed cannot, until p-values are made anew.
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("model");
    pipeline.save(&folder).unwrap();
    let mut loaded = Pipeline::load(&folder, &burn::tensor::Device::flex()).unwrap();
    let basis = loaded.flags_of(0.1, &[0.5]).unwrap().basis;
    assert!(basis.contains("on average at most 10 % of the rows flagged"), "{basis}");
    loaded.calibrate(&labelled(vectors(132, 100)), &goal, None).unwrap();
    assert!(loaded.flags_of(0.1, &[0.5]).is_err());
}

#[test]
fn a_promise_for_each_class_holds_for_each() {
    let mut pipeline = fitted();
    let held_out = labelled(vectors(140, 900));
    let goal = Goal::PerClass(Box::new(Goal::MaxAbstain { share: 0.1 }));
    let calibrated = pipeline.calibrate(&held_out, &goal, None).unwrap();
    let decision = pipeline.decision().unwrap().clone();
    assert_eq!(decision.by_class.len(), 3);
    let accepted = calibrated.classes.iter().map(|class| class.accepted).sum::<usize>();
    let answers = pipeline.answer(&held_out).unwrap();
    assert_eq!(answers.iter().filter(|answer| answer.is_accepted()).count(), accepted);
    // Fresh rows of each class that is predicted, and the same after saving.
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("model");
    pipeline.save(&folder).unwrap();
    let loaded = Pipeline::load(&folder, &burn::tensor::Device::flex()).unwrap();
    let fresh = labelled(vectors(141, 1500));
    let answers = loaded.answer(&fresh).unwrap();
    assert_eq!(pipeline.answer(&fresh).unwrap(), answers);
    for class in 0..3 {
        let own = |answer: &&sngp_pipeline::Answer| matches!(answer.outcome, Some(Outcome::Class { index, .. }) if index == class);
        let rows: Vec<_> = answers.iter().filter(own).collect();
        let rejected = rows.iter().filter(|answer| !answer.is_accepted()).count() as f64;
        let share = rejected / rows.len() as f64;
        assert!((0.04..0.18).contains(&share), "class {class}: {share} of {}", rows.len());
    }
    assert!(matches!(loaded.card().aim, Some(Aim::PerClass { .. })));
    assert!(
        pipeline
            .calibrate(&held_out, &Goal::PerClass(Box::new(Goal::Threshold { value: 1.0 })), None)
            .is_err()
    );
}

#[test]
fn an_error_on_average_accepts_more_than_one_with_confidence() {
    let mut pipeline = fitted();
    let held_out = labelled(vectors(150, 600));
    let threshold = |pipeline: &mut Pipeline, goal: &Goal| {
        pipeline.calibrate(&held_out, goal, None).unwrap();
        pipeline.decision().unwrap().threshold
    };
    let sure = threshold(&mut pipeline, &Goal::MaxError { share: 0.2, confidence: 0.95 });
    let mean = threshold(&mut pipeline, &Goal::MeanError { share: 0.2 });
    assert!(mean >= sure, "{mean} {sure}");
    assert!(pipeline.decision().unwrap().basis.starts_with("on average over held-out sets"));
    assert!(matches!(pipeline.card().aim, Some(Aim::MeanError { .. })));
}
