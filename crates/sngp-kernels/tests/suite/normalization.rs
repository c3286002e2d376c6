//! Layer and batch normalization.

use burn::tensor::{Device, Tensor};
use proptest::prelude::*;
use sngp_kernels::{
    batch_norm_relu, batch_norm_relu_reference, layer_norm, layer_norm_reference, scale_shift_relu,
};

use crate::common::{assert_same, difference, filled, values};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn layer_norm_is_burns(rows in 1usize..60, width in 2usize..200, with_residual: bool) {
        let apply = |leaves: &[Tensor<1>], fused: bool| {
            let input = leaves[0].clone().reshape([rows, width]);
            let other = leaves[1].clone().reshape([rows, width]);
            let (gamma, beta) = (leaves[2].clone(), leaves[3].clone());
            let (input, residual) = match with_residual {
                true => (input, Some(other)),
                false => (input * other, None),
            };
            // Rows of two values have no gradient but for epsilon: with a small one, both sides
            // would be the rounding of zero.
            match fused {
                true => layer_norm(input, residual, gamma, beta, 0.1),
                false => layer_norm_reference(input, residual, gamma, beta, 0.1),
            }
        };
        let leaves = [rows * width, rows * width, width, width];
        // Rows of few values can be nearly constant, and their gradients large.
        assert_same(&leaves, 5e-4, |l| apply(l, true), |l| apply(l, false));
    }

    #[test]
    fn batch_norm_is_burns(batch in 1usize..4, size in 2usize..7, channels in 1usize..70) {
        let pixels = batch * size * size;
        let apply = |leaves: &[Tensor<1>], fused: bool| {
            let input = leaves[0].clone().reshape([batch, size, size, channels]);
            let (gamma, beta) = (leaves[1].clone(), leaves[2].clone());
            match fused {
                true => batch_norm_relu(input, gamma, beta, 1e-5),
                false => batch_norm_relu_reference(input, gamma, beta, 1e-5),
            }
        };
        let leaves = [pixels * channels, channels, channels];
        assert_same(&leaves, 1e-4, |l| apply(l, true).output, |l| apply(l, false).output);
        let device = Device::flex();
        let input = filled([batch, size, size, channels], 2.0, &device);
        let (one, zero) = (Tensor::ones([channels], &device), Tensor::zeros([channels], &device));
        let ours = batch_norm_relu(input.clone(), one.clone(), zero.clone(), 1e-5);
        let burns = batch_norm_relu_reference(input, one, zero, 1e-5);
        prop_assert!(difference(&values(ours.mean), &values(burns.mean)) < 1e-4);
        prop_assert!(difference(&values(ours.variance), &values(burns.variance)) < 1e-4);
    }
}

#[test]
fn known_statistics_and_empty_batches() {
    let device = Device::flex();
    let (scale, shift) = (filled([5], 1.0, &device), filled([5], 0.5, &device));
    for rows in [0, 1, 9] {
        let input = filled([rows, 5], 1.0, &device);
        let ours = scale_shift_relu(input.clone(), scale.clone(), shift.clone());
        let burns =
            (input.clone() * scale.clone().unsqueeze() + shift.clone().unsqueeze()).clamp_min(0.0);
        assert!(difference(&values(ours), &values(burns)) < 1e-6);
        assert_eq!(layer_norm(input, None, scale.clone(), shift.clone(), 1e-5).dims(), [rows, 5]);
    }
    let empty = Tensor::<4>::zeros([0, 4, 4, 5], &device);
    assert_eq!(batch_norm_relu(empty, scale, shift, 1e-5).output.dims(), [0, 4, 4, 5]);
}
