//! The Gaussian-process head against values computed straight from its definition: once in f64
//! all the way, once through the f32 layers and the posterior on the device.

use crate::common::{assert_relative, device, golden, host_matrix, matrix, numbers, tensor};
use ndarray::{Array2, ArrayView2, Axis};
use serde_json::Value;
use sngp::likelihood::{Bernoulli, LikelihoodFunction, Poisson};
use sngp::nn::{GaussianProcess, RandomFeatures};
use sngp::posterior::{Curvature, FeatureMapHash, Posterior, Precision};
use sngp::predict::{Integration, Prediction, Predictive};
use sngp::score::{DempsterShafer, ScoreFunction};

const EXACT: f64 = 1e-10;
const SINGLE: f64 = 1e-4;
const NO_HASH: FeatureMapHash = FeatureMapHash([0; 32]);
const CURVATURES: [(&str, Curvature); 3] = [
    ("per_class", Curvature::PerClass),
    ("shared_max", Curvature::SharedMax),
    ("gaussian", Curvature::Gaussian),
];

fn cases() -> Vec<Value> {
    golden("gp.json")["cases"].as_array().unwrap().clone()
}

fn layer(case: &Value) -> GaussianProcess {
    let weight = matrix(&case["W"]).mapv(|v| v as f32);
    let bias: Vec<f32> = numbers(&case["b"]).iter().map(|&v| v as f32).collect();
    let length_scale = case["length_scale"].as_f64().unwrap();
    let features =
        RandomFeatures::from_weights(weight.view(), &bias, length_scale, &device()).unwrap();
    let beta = matrix(&case["beta"]).mapv(|v| v as f32);
    GaussianProcess::from_weights(features, beta.view(), None).unwrap()
}

fn accumulate(curvature: Curvature, features: &Array2<f64>, logits: &Array2<f64>) -> Precision {
    let mut precision = Precision::new(features.ncols(), logits.ncols(), curvature, NO_HASH);
    precision.add(features.view(), logits.view()).unwrap();
    precision
}

/// Checks trace, first matrix, variance, probabilities and score of one curvature.
fn assert_posterior(
    expected: &Value,
    precision: &Precision,
    variance: Array2<f64>,
    logits: Array2<f64>,
    tolerance: f64,
) {
    let traces: Vec<f64> =
        (0..precision.matrices()).map(|k| precision.matrix(k).diag().sum()).collect();
    assert_relative("trace", &traces, &numbers(&expected["precision_trace"]), tolerance);
    let first = matrix(&expected["precision_0"]);
    // An off-diagonal entry is a sum of both signs; it is measured against the whole matrix.
    let scale = first.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    let error = crate::common::largest_difference(&precision.matrix(0), &first);
    assert!(error <= tolerance * scale, "precision_0 is off by {error}");
    assert_relative("variance", &variance, &matrix(&expected["variance"]), tolerance);

    let mean_field = Integration::default();
    let probabilities = mean_field.softmax(logits.view(), Some(variance.view())).unwrap();
    assert_relative("mean field", &probabilities, &matrix(&expected["mean_field"]), tolerance);

    let prediction = Prediction {
        predictive: Predictive::Classes(probabilities),
        logits,
        variance: Some(variance),
        mean_field_factor: mean_field.mean_field_factor(),
        hidden: None,
        detectors: None,
        combination: None,
    };
    let score = DempsterShafer {}.evaluate(&prediction).unwrap();
    let known = numbers(&expected["dempster_shafer"]);
    assert_relative("Dempster-Shafer", &score, &known, tolerance);
}

#[test]
fn features_and_logits_of_the_f32_layers() {
    for case in cases() {
        let layer = layer(&case);
        for (inputs, features, logits) in
            [("inputs", "features", "logits"), ("test_inputs", "test_features", "test_logits")]
        {
            let output = layer.forward(tensor(&matrix(&case[inputs])));
            // Values near a zero of the cosine, or sums that cancel, are measured against the
            // size the values have in general.
            for (what, found, expected) in [
                (features, host_matrix(output.features), matrix(&case[features])),
                (logits, host_matrix(output.logits), matrix(&case[logits])),
            ] {
                let scale = (expected.mapv(|v| v * v).mean().unwrap()).sqrt();
                let error = crate::common::largest_difference(&found, &expected);
                assert!(error <= SINGLE * scale, "{what} are off by {error} of {scale}");
            }
        }
    }
}

#[test]
fn posterior_in_f64() {
    for case in cases() {
        let (features, logits) = (matrix(&case["features"]), matrix(&case["logits"]));
        let ridge = case["ridge"].as_f64().unwrap();
        for (name, curvature) in CURVATURES {
            let precision = accumulate(curvature, &features, &logits);
            let covariance = precision.finish(ridge).unwrap();
            let variance = covariance.variance(matrix(&case["test_features"]).view()).unwrap();
            let test_logits = matrix(&case["test_logits"]);
            assert_posterior(&case["curvatures"][name], &precision, variance, test_logits, EXACT);
        }
    }
}

#[test]
fn posterior_on_the_device() {
    for case in cases() {
        let layer = layer(&case);
        let train = layer.forward(tensor(&matrix(&case["inputs"])));
        let test = layer.forward(tensor(&matrix(&case["test_inputs"])));
        let (features, logits) = (host_matrix(train.features), host_matrix(train.logits));
        for (name, curvature) in CURVATURES {
            let precision = accumulate(curvature, &features, &logits);
            let ridge = case["ridge"].as_f64().unwrap();
            let posterior = Posterior::finish(precision, ridge, &device()).unwrap();
            let variance = host_matrix(posterior.variance(&test.features));
            let expected = &case["curvatures"][name];
            let test_logits = host_matrix(test.logits.clone());
            assert_posterior(expected, posterior.precision(), variance, test_logits, SINGLE);
        }
    }
}

#[test]
fn moving_average_in_file_order() {
    for case in cases() {
        let (features, logits) = (matrix(&case["features"]), matrix(&case["logits"]));
        let expected = &case["moving_average"];
        let size = |name: &str| expected[name].as_u64().unwrap() as usize;
        let (momentum, rows) = (expected["m"].as_f64().unwrap(), features.nrows());
        let mut precision =
            Precision::new(features.ncols(), logits.ncols(), Curvature::Gaussian, NO_HASH);
        // The known answer takes whole batches only: six rows in batches of five make one.
        let batch = size("batch");
        let whole = |rows: &ArrayView2<'_, f64>| rows.nrows() == batch;
        for _ in 0..size("epochs") {
            let parts = features.axis_chunks_iter(Axis(0), batch).filter(whole);
            let logits = logits.axis_chunks_iter(Axis(0), batch);
            for (features, logits) in parts.zip(logits) {
                precision.average(features, logits, momentum, rows).unwrap();
            }
        }
        let known = matrix(&expected["precision"]);
        let scale = known.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        let error = crate::common::largest_difference(&precision.matrix(0), &known);
        assert!(error <= EXACT * scale, "the moving average is off by {error}");
        assert!(precision.is_average());
    }
}

#[test]
fn one_logit_likelihoods() {
    let golden = golden("gp.json");
    let one = &golden["one_logit"];
    let column = |name: &str| Array2::from_shape_vec((6, 1), numbers(&one[name])).unwrap();
    let (mean, variance) = (column("mean"), column("variance"));

    // The known probability is the integral itself, which quadrature reaches and the mean field
    // only approximates.
    let known = numbers(&one["bernoulli_probability"]);
    let ones = |integration: Integration| -> Vec<f64> {
        let predictive =
            Bernoulli {}.predict(mean.view(), Some(variance.view()), &integration, None);
        let Predictive::Classes(p) = predictive.unwrap() else { panic!("not classes") };
        p.column(1).to_vec()
    };
    let quadrature = ones(Integration::Quadrature { points: 64 });
    assert_relative("quadrature", &quadrature, &known, EXACT);
    let mean_field = ones(Integration::default());
    let error = crate::common::largest_difference(&mean_field, &known);
    assert!(error > 1e-6 && error < 0.03, "the mean field is off by {error}");

    let rates =
        Poisson {}.predict(mean.view(), Some(variance.view()), &Integration::default(), None);
    let Predictive::Rate(rates) = rates.unwrap() else { panic!("not rates") };
    assert_relative("rate", &rates, &numbers(&one["poisson_rate"]), EXACT);
}
