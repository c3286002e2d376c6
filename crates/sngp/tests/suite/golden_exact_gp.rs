//! The binary exact GP against values computed straight from its definition.

use ndarray::Array2;
use serde_json::Value;
use sngp::exact_gp::{BinaryGp, ExactGpClassifier, ExactGpConfig};

const TOLERANCE: f64 = 1e-6;

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/exact_gp.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Array2<f64> {
    let rows: Vec<_> = value.as_array().unwrap().iter().map(numbers).collect();
    Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < TOLERANCE, "{found} is not {expected}");
    }
}

#[test]
fn mode_mean_and_variance() {
    let golden = golden();
    let inputs = matrix(&golden["inputs"]);
    let labels: Vec<usize> = numbers(&golden["labels"]).iter().map(|&y| y as usize).collect();
    let test = matrix(&golden["test_inputs"]);
    let length_scale = golden["length_scale"].as_f64().unwrap();

    let gp = BinaryGp::fit(inputs.view(), &labels, length_scale).unwrap();
    assert_close(gp.latent_mode(), &numbers(&golden["latent_mode"]));
    let (mean, variance) = gp.predict(test.view()).unwrap();
    assert_close(&mean.to_vec(), &numbers(&golden["test_mean"]));
    assert_close(&variance.to_vec(), &numbers(&golden["test_variance"]));

    let config = ExactGpConfig { length_scale };
    let classifier = ExactGpClassifier::fit(inputs.view(), &labels, 2, &config).unwrap();
    let latent = classifier.predict(test.view()).unwrap();
    assert_eq!(latent.mean.column(1), mean);
    assert_eq!(latent.variance.column(0), variance);
    assert!(latent.mean.column(0).iter().all(|&reference| reference == 0.0));
}
