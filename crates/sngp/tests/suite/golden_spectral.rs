//! Operator norms against singular values computed by other code.

use crate::common::{device, golden, matrix, numbers};
use burn::module::Param;
use burn::nn::PaddingConfig2d;
use burn::nn::conv::Conv2d;
use burn::tensor::{Tensor, TensorData};
use serde_json::Value;
use sngp::nn::linear;
use sngp::spectral::{Operator, singular_values};

const TOLERANCE: f64 = 1e-3;
const ITERATIONS: usize = 2000;

fn assert_norm(found: f64, case: &Value) {
    let sigma = case["sigma"].as_f64().unwrap();
    assert!((found - sigma).abs() <= TOLERANCE * sigma, "{found} is not {sigma}");
}

fn convolution(case: &Value) -> (Conv2d, [usize; 2]) {
    let size = |value: &Value| value.as_u64().unwrap() as usize;
    let shape = [
        case["kernel"].as_array().unwrap().len(),
        case["kernel"][0].as_array().unwrap().len(),
        case["kernel"][0][0].as_array().unwrap().len(),
        case["kernel"][0][0][0].as_array().unwrap().len(),
    ];
    let values: Vec<f32> = numbers(&case["kernel"]).iter().map(|&v| v as f32).collect();
    let kernel = Tensor::<4>::from_data(TensorData::new(values, shape), &device());
    let padding = size(&case["padding"]);
    let layer = Conv2d {
        weight: Param::from_tensor(kernel),
        bias: None,
        stride: [size(&case["stride"]); 2],
        kernel_size: [shape[2], shape[3]],
        dilation: [size(&case["dilation"]); 2],
        groups: size(&case["groups"]),
        padding: PaddingConfig2d::Explicit(padding, padding, padding, padding),
    };
    (layer, [size(&case["input_hw"][0]), size(&case["input_hw"][1])])
}

#[test]
fn dense_layers() {
    for case in golden("spectral.json")["dense"].as_array().unwrap() {
        let weight = matrix(&case["weight"]).mapv(|v| v as f32);
        let layer = linear(weight.view(), None, &device());
        assert_norm(Operator::dense(&layer).norm(ITERATIONS), case);
        assert_norm(singular_values(&layer)[0], case);
    }
}

#[test]
fn convolutions() {
    for case in golden("spectral.json")["conv"].as_array().unwrap() {
        let (layer, input) = convolution(case);
        assert_norm(Operator::convolution(&layer, input).norm(ITERATIONS), case);
    }
}

#[test]
fn a_convolution_is_not_its_reshaped_kernel() {
    let golden = golden("spectral.json");
    let mut told_apart = 0;
    for case in golden["conv"].as_array().unwrap() {
        let (layer, input) = convolution(case);
        let [outputs, rest @ ..] = layer.weight.dims();
        let kernel = numbers(&case["kernel"]);
        let reshaped = crate::common::true_norm(outputs, rest.iter().product(), &kernel);
        let known = case["reshaped_sigma"].as_f64().unwrap();
        assert!((reshaped - known).abs() <= 1e-9 * known);
        // Where no two windows overlap (stride 2 under a 2 x 2 kernel) the two are one number.
        if (case["sigma"].as_f64().unwrap() - known).abs() > 0.05 * known {
            let norm = Operator::convolution(&layer, input).norm(ITERATIONS);
            assert!(norm > 1.05 * reshaped, "{norm} is the reshaped kernel's {reshaped}");
            told_apart += 1;
        }
    }
    assert_eq!(told_apart, 5);
}

/// `Same` padding is asymmetric for an even kernel or a stride; the operator pads as Burn does.
#[test]
fn the_operator_is_what_the_layer_computes() {
    for (kernel, stride, input) in [(4, 1, [6, 5]), (3, 2, [7, 6]), (2, 2, [5, 5]), (3, 1, [4, 4])]
    {
        let layer = burn::nn::conv::Conv2dConfig::new([2, 3], [kernel, kernel])
            .with_stride([stride, stride])
            .with_padding(PaddingConfig2d::Same)
            .with_bias(false)
            .init(&device());
        let size = 2 * input[0] * input[1];
        let basis = Tensor::<2>::eye(size, &device()).reshape([size, 2, input[0], input[1]]);
        let images = layer.forward(basis);
        let outputs = images.dims()[1..].iter().product();
        let norm = crate::common::true_norm(size, outputs, &crate::common::host(images));
        let operator = Operator::convolution(&layer, input);
        assert_eq!(operator.outputs(), outputs);
        let found = operator.norm(ITERATIONS);
        assert!((found - norm).abs() <= TOLERANCE * norm, "{found} is not {norm}");
    }
}
