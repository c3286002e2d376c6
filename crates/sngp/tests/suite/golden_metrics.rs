//! The metrics against known answers, computed from the definitions by other code.

use ndarray::Array2;
use serde::Deserialize;
use sngp::metrics::{Classification, Detection};

const TOLERANCE: f64 = 1e-6;

#[derive(Deserialize)]
struct Golden {
    classification: Vec<ClassificationCase>,
    detection: Vec<DetectionCase>,
}

#[derive(Deserialize)]
struct ClassificationCase {
    probabilities: Vec<Vec<f64>>,
    labels: Vec<usize>,
    accuracy: f64,
    ece: f64,
    nll: f64,
    brier: f64,
    aurc: f64,
    accuracy_at_80_percent_coverage: f64,
}

#[derive(Deserialize)]
struct DetectionCase {
    scores: Vec<f64>,
    is_ood: Vec<u8>,
    auroc: f64,
    aupr: f64,
    fpr_at_95_tpr: f64,
}

fn golden() -> Golden {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/metrics.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn assert_close(case: usize, name: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() < TOLERANCE, "case {case}, {name}: {found} is not {expected}");
}

#[test]
fn classification_metrics_reproduce_the_known_answers() {
    for (number, case) in golden().classification.iter().enumerate() {
        let shape = (case.probabilities.len(), case.probabilities[0].len());
        let probabilities = Array2::from_shape_vec(shape, case.probabilities.concat()).unwrap();
        let expected = [
            ("accuracy", case.accuracy),
            ("ece", case.ece),
            ("nll", case.nll),
            ("brier", case.brier),
            ("aurc", case.aurc),
            ("accuracy_at_coverage", case.accuracy_at_80_percent_coverage),
        ];
        for (name, expected) in expected {
            let metric: Classification = name.parse().unwrap();
            let found = metric.evaluate(probabilities.view(), &case.labels).unwrap();
            assert_close(number, name, found, expected);
        }
    }
}

#[test]
fn detection_metrics_reproduce_the_known_answers() {
    for (number, case) in golden().detection.iter().enumerate() {
        let is_ood: Vec<bool> = case.is_ood.iter().map(|&ood| ood == 1).collect();
        let expected =
            [("auroc", case.auroc), ("aupr", case.aupr), ("fpr_at_95_tpr", case.fpr_at_95_tpr)];
        for (name, expected) in expected {
            let metric: Detection = name.parse().unwrap();
            assert_close(number, name, metric.evaluate(&case.scores, &is_ood).unwrap(), expected);
        }
    }
}
