//! Fitted pipelines, measured: what the report says is what the pipeline does.

mod cards;
mod numbers;

use ndarray::Array2;
use sngp::metrics::{auroc, risk_coverage};
use sngp::score::{MaxProbability, Score};
use sngp_pipeline::calibrate::Goal;
use sngp_pipeline::input::Dataset;
use sngp_pipeline::{Options, Pipeline};
use sngp_report::evaluation::{Evaluation, UNKNOWN_LABELS, evaluate};
use sngp_report::evidence::{Evidence, MetricRow, Set, Truth, check, html};

const WIDTH: usize = 4;

/// Rows of two overlapping classes, the one of `row` being `row % 2`, that point in directions of
/// their own.
fn vectors(rows: std::ops::Range<usize>) -> Array2<f32> {
    let start = rows.start;
    Array2::from_shape_fn((rows.len(), WIDTH), |(i, j)| {
        let row = start + i;
        ((row + j) % 2) as f32 + 0.9 * ((row * row * (j + 2) + 7 * row) as f32).sin()
    })
}

fn labels(rows: std::ops::Range<usize>) -> Vec<String> {
    rows.map(|row| ["no", "yes"][row % 2].to_string()).collect()
}

fn options() -> Options<'static> {
    Options { features: 64, tune: Some(false), ..Default::default() }
}

fn classifier() -> Pipeline {
    Pipeline::fit_vectors(vectors(0..400).view(), &labels(0..400), &options()).unwrap()
}

fn labelled(rows: std::ops::Range<usize>) -> Dataset {
    Dataset::of_vectors(vectors(rows.clone()).view()).unwrap().with_labels(labels(rows)).unwrap()
}

/// Rows that turn away from the training data ever further, the first of them within.
fn receding(count: usize) -> Dataset {
    let far = Array2::from_shape_fn((count, WIDTH), |(i, j)| 0.5 - 0.2 * (i * (j + 1)) as f32);
    Dataset::of_vectors(far.view()).unwrap()
}

fn ood<'a>(sets: &[(&str, &'a Dataset)]) -> Vec<(String, &'a Dataset)> {
    sets.iter().map(|(name, set)| (name.to_string(), *set)).collect()
}

fn metric<'a>(evidence: &'a Evidence, set: Set, ood: Option<&str>, name: &str) -> &'a MetricRow {
    let row = |row: &&MetricRow| row.set == set && row.ood.as_deref() == ood && row.name == name;
    evidence.metrics.iter().find(row).unwrap_or_else(|| panic!("no {name} on {set:?} {ood:?}"))
}

fn rejected(pipeline: &Pipeline, set: &Dataset) -> usize {
    let answers = pipeline.answer(set).unwrap();
    answers.iter().filter(|answer| !answer.is_accepted()).count()
}

#[test]
fn what_is_accepted_is_what_the_pipeline_accepts() {
    let mut pipeline = classifier();
    let (test, far) = (labelled(400..700), receding(40));
    let held_out = labelled(700..1000);
    let goals = [
        (Goal::MaxAbstain { share: 0.1 }, None),
        (Goal::MaxAbstain { share: 0.3 }, Some(Score::from(MaxProbability {}))),
        (Goal::Threshold { value: 0.2 }, Some(Score::from(MaxProbability {}))),
    ];
    for (goal, score) in goals {
        pipeline.calibrate(&held_out, &goal, score).unwrap();
        let sets = Evaluation { ood: ood(&[("far", &far)]), ..Evaluation::on(&test) };
        let evidence = evaluate(&pipeline, &sets).unwrap();
        let found = evidence.at_threshold();
        assert_eq!(found.test.rows - found.test.answered, rejected(&pipeline, &test), "{goal:?}");
        assert_eq!(found.ood[0].rejected, rejected(&pipeline, &far), "{goal:?}");
        check(&evidence).unwrap();
    }
}

#[test]
fn the_guard_rejects_what_the_score_accepts() {
    let mut pipeline = classifier();
    // No uncertainty is above this, so that the score alone would accept everything.
    let goal = Goal::Threshold { value: 2.0 };
    let score = Score::from(MaxProbability {});
    pipeline.calibrate(&labelled(700..1000), &goal, Some(score)).unwrap();
    let (test, far) = (labelled(400..600), receding(40));
    let sets = Evaluation { ood: ood(&[("far", &far)]), ..Evaluation::on(&test) };
    let evidence = evaluate(&pipeline, &sets).unwrap();
    assert!(evidence.ood.iter().all(|uncertainty| *uncertainty <= 2.0));
    let found = evidence.at_threshold();
    assert!(found.ood[0].rejected > 25, "{found:?}");
    assert_eq!(found.ood[0].rejected, rejected(&pipeline, &far));
    // Those near the data get through, and are shown.
    let accepted = found.ood[0].rows - found.ood[0].rejected;
    assert!(accepted > 0 && evidence.accepted_ood.len() == accepted.min(12), "{found:?}");
    assert_eq!(evidence.accepted_ood[0].truth, Truth::Ood("far".to_string()));
    let page = html(&evidence);
    assert!(page.contains("Whatever the threshold") && page.contains("Accepted OOD examples"));
}

#[test]
fn unknown_labels_are_an_ood_set_and_no_error() {
    let pipeline = classifier();
    let mut names = labels(400..500);
    names[7] = "maybe".to_string();
    names[8] = "perhaps".to_string();
    let unlabelled = |names: &[String]| {
        Dataset::of_vectors(vectors(400..500).view()).unwrap().with_labels(names).unwrap()
    };
    let test = unlabelled(&names);
    let evidence = evaluate(&pipeline, &Evaluation::on(&test)).unwrap();
    assert_eq!((evidence.test.len(), evidence.ood.len()), (98, 2));
    assert_eq!(evidence.at_threshold().ood[0].name, UNKNOWN_LABELS);
    let warning = &evidence.warnings[0];
    assert!(
        warning.contains("2 rows have labels that are no class here: `maybe` (1)"),
        "{warning}"
    );
    assert!(html(&evidence).contains("`perhaps` (1)"));
    // Rows keep their numbers though two before them are left out.
    assert!(
        evidence
            .uncertain
            .iter()
            .all(|example| { example.truth == Truth::Label(names[example.row - 1].clone()) })
    );
    let strict = Evaluation { strict: true, ..Evaluation::on(&test) };
    let error = evaluate(&pipeline, &strict).unwrap_err().to_string();
    assert!(error.contains("`maybe` (1)"), "{error}");
    let foreign = unlabelled(&vec!["maybe".to_string(); 100]);
    assert!(evaluate(&pipeline, &Evaluation::on(&foreign)).is_err());
}

#[test]
fn rows_that_cannot_be_used_are_counted() {
    let pipeline = classifier();
    let mut values = vectors(400..500);
    values[[3, 1]] = f32::NAN;
    let broken = Dataset::of_vectors(values.view()).unwrap();
    let test = broken.with_labels(labels(400..500)).unwrap();
    let evidence = evaluate(&pipeline, &Evaluation::on(&test)).unwrap();
    assert_eq!(evidence.test.len(), 99);
    let warning = &evidence.warnings[0];
    assert!(
        warning.contains("1 of 100 rows cannot be used") && warning.contains("row 4"),
        "{warning}"
    );
    let clean = evaluate(&pipeline, &Evaluation::on(&labelled(400..500))).unwrap();
    let kept: Vec<_> =
        (0..100).filter(|row| *row != 3).map(|row| clean.test[row].admitted).collect();
    assert_eq!(evidence.test.iter().map(|row| row.admitted).collect::<Vec<_>>(), kept);
    let strict = Evaluation { strict: true, ..Evaluation::on(&test) };
    let error = evaluate(&pipeline, &strict).unwrap_err().to_string();
    assert!(error.contains("row 4"), "{error}");
}

#[test]
fn several_ood_sets_are_measured_each_and_together() {
    let pipeline = classifier();
    let (test, near, far) = (labelled(400..600), labelled(1000..1060), receding(30));
    let sets = Evaluation { ood: ood(&[("near", &near), ("far", &far)]), ..Evaluation::on(&test) };
    let evidence = evaluate(&pipeline, &sets).unwrap();
    check(&evidence).unwrap();
    let by = |name: &str| format!("{name} by {}", evidence.score);
    let [near_auroc, far_auroc, all] = [Some("near"), Some("far"), None]
        .map(|set| metric(&evidence, Set::Ood, set, &by("auroc")).value);
    // Rows like the test rows cannot be detected.
    assert!(near_auroc < 0.6 && far_auroc > near_auroc + 0.05, "{near_auroc} {far_auroc}");
    // Pairs with the test rows count by the sizes of the sets.
    assert!((all - (60.0 * near_auroc + 30.0 * far_auroc) / 90.0).abs() < 1e-9);
    let found = evidence.at_threshold().ood;
    assert_eq!([found[0].rows, found[1].rows], [60, 30]);
    assert_eq!(found[1].rejected, rejected(&pipeline, &far));
    let twice = Evaluation { ood: ood(&[("a", &near), ("a", &far)]), ..Evaluation::on(&test) };
    assert!(evaluate(&pipeline, &twice).unwrap_err().to_string().contains("two OOD sets"));
}

#[test]
fn failures_are_what_is_wrong_or_ood() {
    let pipeline = classifier();
    let (test, far) = (labelled(400..700), receding(30));
    let sets = Evaluation { ood: ood(&[("far", &far)]), ..Evaluation::on(&test) };
    let evidence = evaluate(&pipeline, &sets).unwrap();
    let by = |name: &str| format!("{name} by {}", evidence.score);
    let value = |set: Set, name: &str| metric(&evidence, set, None, &by(name)).value;

    let mut scores: Vec<f64> = evidence.test.iter().map(|row| row.uncertainty).collect();
    let mut failed: Vec<bool> = evidence.test.iter().map(|row| !row.correct).collect();
    let right = |failed: &[bool]| failed.iter().map(|failed| !failed).collect::<Vec<bool>>();
    let aurc = risk_coverage(&scores, &right(&failed)).unwrap().area();
    assert_eq!(value(Set::Misclassification, "aurc"), aurc);
    assert_eq!(value(Set::Misclassification, "auroc"), auroc(&scores, &failed).unwrap());
    // One area under the risk-coverage curve, in the metrics and below the plot.
    assert!(html(&evidence).contains(&format!("(AURC): {aurc:.4};")));
    assert!(evidence.metrics.iter().all(|row| row.name != "aurc"));

    scores.extend(&evidence.ood);
    failed.extend(evidence.ood.iter().map(|_| true));
    assert_eq!(value(Set::Failure, "auroc"), auroc(&scores, &failed).unwrap());
    let area = risk_coverage(&scores, &right(&failed)).unwrap().area();
    assert_eq!(value(Set::Failure, "aurc"), area);
    // By every score, with intervals; classes that are equally frequent are balanced already.
    let compared = metric(&evidence, Set::Failure, None, "auroc by entropy");
    assert!(compared.low <= Some(compared.value) && compared.low.is_some());
    let [plain, balanced] = ["accuracy", "balanced_accuracy"]
        .map(|name| metric(&evidence, Set::Test, None, name).value);
    assert!((plain - balanced).abs() < 1e-9, "{plain} {balanced}");
    let confused: usize = evidence.confusions.iter().map(|pair| pair.count).sum();
    assert_eq!(confused, evidence.test.iter().filter(|row| !row.correct).count());
}

#[test]
fn a_class_that_is_always_rejected_is_said() {
    let mut pipeline = classifier();
    let held_out = labelled(700..1000);
    pipeline.calibrate(&held_out, &Goal::Threshold { value: -1e9 }, None).unwrap();
    let test = labelled(400..422);
    let evidence = evaluate(&pipeline, &Evaluation::on(&test)).unwrap();
    let expected = ["no", "yes"]
        .map(|name| format!("class `{name}` is mostly rejected: 11 of its 11 test rows"));
    assert_eq!(evidence.warnings, expected);
    assert!(html(&evidence).contains("11 of its 11 test rows"));
}

#[test]
fn every_score_and_detector_is_compared() {
    let pipeline = classifier();
    let (test, far) = (labelled(400..500), receding(40));
    let sets = Evaluation { ood: ood(&[("far", &far)]), ..Evaluation::on(&test) };
    let evidence = evaluate(&pipeline, &sets).unwrap();
    for score in ["combined", "knn", "mahalanobis", "relative_mahalanobis", "density", "vim"] {
        let row = metric(&evidence, Set::Ood, None, &format!("auroc by {score}"));
        assert_eq!(row.by.as_deref(), Some(score));
    }
    assert!(html(&evidence).contains("By other scores and detectors"));
}

#[test]
fn the_union_of_test_and_ood_rows_is_graded_before_and_after_mixing() {
    let mut pipeline = classifier();
    let test = labelled(400..700);
    let far = Dataset::of_vectors((vectors(2000..2100) * -30.0).view()).unwrap();
    let sets = Evaluation { ood: ood(&[("far", &far)]), ..Evaluation::on(&test) };
    let plain = evaluate(&pipeline, &sets).unwrap();
    let alone = evaluate(&pipeline, &Evaluation::on(&test)).unwrap();
    assert!(alone.metrics.iter().all(|row| row.set != Set::Union), "it takes OOD rows");
    assert!(plain.metrics.iter().all(|row| !row.name.ends_with("of the model alone")));
    pipeline.use_minimax(&labelled(700..1300)).unwrap();
    let mixed = evaluate(&pipeline, &sets).unwrap();
    for name in ["ece", "nll"] {
        let value = |evidence: &Evidence, set, name: &str| metric(evidence, set, None, name).value;
        let before = format!("{name} of the model alone");
        for set in [Set::Test, Set::Union] {
            assert_eq!(value(&mixed, set, &before), value(&plain, set, name));
        }
        assert!(value(&mixed, Set::Union, name) < value(&plain, Set::Union, name), "{name}");
    }
    let [before, after] = [&plain, &mixed].map(|e| metric(e, Set::Test, None, "accuracy").value);
    assert_eq!(before, after);
    assert_eq!(plain.at_threshold(), mixed.at_threshold());
    check(&mixed).unwrap();
    assert!(html(&mixed).contains("Calibration over test and OOD examples"));
}

#[test]
fn thresholds_of_classes_count_in_the_report_as_they_do_in_answers() {
    let mut pipeline = classifier();
    let goal = Goal::PerClass(Box::new(Goal::MaxAbstain { share: 0.2 }));
    pipeline.calibrate(&labelled(700..1000), &goal, None).unwrap();
    let (test, far) = (labelled(400..700), receding(40));
    let sets = Evaluation { ood: ood(&[("far", &far)]), ..Evaluation::on(&test) };
    let found = evaluate(&pipeline, &sets).unwrap().at_threshold();
    assert_eq!(found.test.rows - found.test.answered, rejected(&pipeline, &test));
    assert_eq!(found.ood[0].rejected, rejected(&pipeline, &far));
}
