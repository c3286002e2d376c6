//! DUQ's kernel and score against known values.

use crate::common::{
    cube, device, golden, host_matrix, largest_difference, matrix, numbers, tensor,
};
use sngp::nn::RbfCentroids;
use sngp::predict::{Integration, Prediction, Predictive};
use sngp::score::{KernelDistance, ScoreFunction};

const TOLERANCE: f64 = 1e-5;

#[test]
fn kernel_and_score() {
    let golden = golden("duq.json");
    let embedding = cube(&golden["V"]).mapv(|v| v as f32);
    let centroids = matrix(&golden["centroids"]).mapv(|v| v as f32);
    let sigma = golden["sigma"].as_f64().unwrap();
    let layer =
        RbfCentroids::from_weights(embedding.view(), centroids.view(), sigma, 0.999, &device())
            .unwrap();

    let log_kernel = layer.log_kernel(tensor(&matrix(&golden["features"])));
    let kernel = host_matrix(log_kernel.clone().exp());
    let error = largest_difference(&kernel, &matrix(&golden["kernel"]));
    assert!(error <= TOLERANCE, "the kernel is off by {error}");

    let logits = host_matrix(log_kernel);
    let prediction = Prediction {
        predictive: Predictive::Classes(
            Integration::default().softmax(logits.view(), None).unwrap(),
        ),
        logits,
        variance: None,
        mean_field_factor: 0.0,
        hidden: None,
        detectors: None,
        combination: None,
    };
    let score = KernelDistance {}.evaluate(&prediction).unwrap();
    let error = largest_difference(&score, &numbers(&golden["score"]));
    assert!(error <= TOLERANCE, "the score is off by {error}");
}
