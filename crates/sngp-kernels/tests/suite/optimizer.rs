//! Optimiser steps.

use burn::tensor::{Device, Tensor};
use proptest::prelude::*;
use sngp_kernels::{AdamWStep, SgdStep, scaled, sum_of_squares};

use crate::common::{difference, filled, values};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn steps_are_burns_ops(rows in 0usize..40, columns in 1usize..2000, time in 1usize..2000) {
        let device = Device::flex();
        let start = |size| filled([rows, columns], size, &device);
        let adam =
            AdamWStep { rate: 0.01, betas: [0.9, 0.999], epsilon: 1e-8, decay: 0.1, time };
        let ours = adam.apply(start(1.0), start(0.5), start(0.1), start(0.2).square());
        let burns = adam.reference(start(1.0), start(0.5), start(0.1), start(0.2).square());
        for (ours, burns) in ours.into_iter().zip(burns) {
            prop_assert!(difference(&values(ours), &values(burns)) < 1e-5);
        }
        let sgd = SgdStep { rate: 0.1, momentum: 0.9, decay: 5e-4 };
        let ours = sgd.apply(start(1.0), start(0.5), start(0.1));
        let burns = sgd.reference(start(1.0), start(0.5), start(0.1));
        for (ours, burns) in ours.into_iter().zip(burns) {
            prop_assert!(difference(&values(ours), &values(burns)) < 1e-5);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sums_and_factors_are_burns_ops(rows in 0usize..40, columns in 1usize..2000) {
        let device = Device::flex();
        // Contiguous, and a view that is not.
        for tensor in [filled([rows, columns], 1.0, &device), filled([columns, rows], 1.0, &device).transpose()] {
            let exact: f64 = values(tensor.clone()).iter().map(|v| f64::from(*v).powi(2)).sum();
            let found = sum_of_squares(tensor.clone());
            prop_assert!((found - exact).abs() <= 1e-6 * exact, "{found} for {exact}");
            let before = values(tensor.clone());
            let ours = values(scaled(tensor.clone(), 0.25));
            prop_assert_eq!(&ours, &values(tensor.clone() * 0.25));
            prop_assert_eq!(values(tensor), before, "what others hold is left alone");
        }
    }
}

/// A step writes over what it is given only if no one else holds it.
#[test]
fn what_others_hold_is_left_alone() {
    let device = Device::flex();
    let (parameter, gradient) = (filled([7, 3], 1.0, &device), filled([7, 3], 0.5, &device));
    let (velocity, before) = (Tensor::zeros([7, 3], &device), values(parameter.clone()));
    let step = SgdStep { rate: 0.1, momentum: 0.9, decay: 0.0 };
    let [after, _] = step.apply(parameter.clone(), gradient, velocity);
    assert_eq!(values(parameter), before);
    assert_ne!(values(after), before);
}

/// A view into a larger tensor is not its buffer.
#[test]
fn views_work() {
    let device = Device::flex();
    let whole = filled([10, 4], 1.0, &device);
    let view = || whole.clone().slice([2..5, 0..4]);
    let step = SgdStep { rate: 0.1, momentum: 0.9, decay: 0.1 };
    let [ours, _] = step.apply(view(), view(), view());
    let [burns, _] = step.reference(view(), view(), view());
    assert!(difference(&values(ours), &values(burns)) < 1e-6);
}
