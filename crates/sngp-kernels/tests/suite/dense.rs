//! Dense layers, activations and softmax.

use burn::tensor::{Device, Tensor, activation};
use proptest::prelude::*;
use sngp_kernels::{
    Activation, Prepared, activate, linear, linear_reference, log_softmax, softmax,
};

use crate::common::{assert_same, difference, filled, values};

const ACTIVATIONS: [Activation; 3] = [Activation::Identity, Activation::Relu, Activation::Gelu];

type Linear =
    fn(Tensor<2>, Tensor<2>, Option<Tensor<1>>, Activation, Option<Tensor<2>>) -> Tensor<2>;

fn fused(
    input: Tensor<2>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    activation: Activation,
    residual: Option<Tensor<2>>,
) -> Tensor<2> {
    linear(input, weight, bias, activation, residual, Some(&Prepared::default()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn linear_is_burns(
        rows in 1usize..120,
        inputs in 1usize..70,
        outputs in 1usize..90,
        activation in 0usize..3,
        with_bias: bool,
        with_residual: bool,
        transposed: bool,
    ) {
        let apply = |leaves: &[Tensor<1>], linear: Linear| {
            // A transposed view is not contiguous.
            let input = match transposed {
                true => leaves[0].clone().reshape([inputs, rows]).transpose(),
                false => leaves[0].clone().reshape([rows, inputs]),
            };
            let weight = leaves[1].clone().reshape([inputs, outputs]);
            let bias = leaves[2].clone();
            let residual = leaves[3].clone().reshape([rows, outputs]);
            // What is left out still has to have a gradient.
            let rest = (bias.clone().sum() + residual.clone().sum()).unsqueeze() * 0.1;
            let (bias, residual) = (with_bias.then_some(bias), with_residual.then_some(residual));
            linear(input, weight, bias, ACTIVATIONS[activation], residual) + rest
        };
        let leaves = [rows * inputs, inputs * outputs, outputs, rows * outputs];
        assert_same(&leaves, 2e-5, |l| apply(l, fused), |l| apply(l, linear_reference));
    }

    #[test]
    fn activations_and_softmax_are_burns(rows in 1usize..40, columns in 1usize..300) {
        for activation in ACTIVATIONS {
            let shaped = |l: &[Tensor<1>]| l[0].clone().reshape([rows, columns]) * 2.0;
            let ours = |l: &[Tensor<1>]| activate(shaped(l), activation);
            assert_same(&[rows * columns], 1e-5, ours, |l| activation.reference(shaped(l)));
            let ours = |l: &[Tensor<1>]| softmax(shaped(l));
            assert_same(&[rows * columns], 1e-5, ours, |l| activation::softmax(shaped(l), 1));
            let ours = |l: &[Tensor<1>]| log_softmax(shaped(l));
            assert_same(&[rows * columns], 1e-5, ours, |l| activation::log_softmax(shaped(l), 1));
        }
    }
}

#[test]
fn empty_and_single_rows_work() {
    let device = Device::flex();
    for rows in [0, 1] {
        let input = filled([rows, 3], 1.0, &device);
        let output = linear(
            input.clone(),
            filled([3, 5], 1.0, &device),
            Some(filled([5], 1.0, &device)),
            Activation::Gelu,
            None,
            None,
        );
        assert_eq!(output.dims(), [rows, 5]);
        assert_eq!(activate(input.clone(), Activation::Relu).dims(), [rows, 3]);
        assert_eq!(softmax(input).dims(), [rows, 3]);
    }
}

#[test]
fn three_dimensions_are_rows_too() {
    let device = Device::flex();
    let (input, weight) = (filled([2, 5, 7], 1.0, &device), filled([7, 4], 1.0, &device));
    let ours = linear(input.clone(), weight.clone(), None, Activation::Relu, None, None);
    let burns = linear_reference(input, weight, None, Activation::Relu, None);
    assert_eq!(ours.dims(), [2, 5, 4]);
    assert!(difference(&values(ours), &values(burns)) < 1e-5);
}

/// The prepared form is found by identity, and never outlives a change of the weight.
#[test]
fn a_changed_weight_is_prepared_anew() {
    let device = Device::flex();
    let (prepared, input) = (Prepared::default(), filled([6, 20], 1.0, &device));
    let mut weight = filled([20, 33], 1.0, &device);
    for step in 0..4 {
        let apply = |prepared: Option<&Prepared>| {
            let (input, weight) = (input.clone(), weight.clone());
            values(linear(input, weight, None, Activation::Identity, None, prepared))
        };
        assert_eq!(apply(Some(&prepared)), apply(None), "step {step}");
        assert_eq!(apply(Some(&prepared)), apply(None), "step {step}, from what was kept");
        // In place where Burn can.
        weight = weight.mul_scalar(1.5).add_scalar(0.1);
    }
}
