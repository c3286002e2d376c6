//! Convolutions: direct and by Winograd's algorithm.

use burn::tensor::{Device, Tensor, activation};
use proptest::prelude::*;
use sngp_kernels::{
    Geometry, Prepared, convolution, convolution_folded, convolution_reference,
    convolution_transposed,
};

use crate::common::{assert_same, difference, filled, values};

/// Winograd's transforms cost some digits: F(4x4, 3x3) multiplies by up to 8 and divides by 24.
const TOLERANCE: f32 = 2e-4;

fn compare(shape: [usize; 4], filters: usize, kernel: usize, geometry: Geometry, residual: bool) {
    let [batch, height, width, channels] = shape;
    let size = |length: usize| (length + 2 * geometry.padding - kernel) / geometry.stride + 1;
    let output = [batch, size(height), size(width), filters];
    let apply = |leaves: &[Tensor<1>], fused: bool| {
        let input = leaves[0].clone().reshape(shape);
        let weight = leaves[1].clone().reshape([filters, channels, kernel, kernel]);
        let other = leaves[2].clone().reshape(output);
        let rest = other.clone().sum().unsqueeze() * 0.01;
        let other = residual.then_some(other);
        match fused {
            true => convolution(input, weight, geometry, other, None) + rest,
            false => convolution_reference(input, weight, geometry, other) + rest,
        }
    };
    let weight = filters * channels * kernel * kernel;
    let leaves = [shape.iter().product(), weight, output.iter().product()];
    assert_same(&leaves, TOLERANCE, |l| apply(l, true), |l| apply(l, false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// `<A x, y> = <x, A^T y>` for the transpose of every convolution, and for no other map.
    #[test]
    fn the_transposed_map_is_the_transpose(
        height in 5usize..12,
        width in 5usize..12,
        channels in 1usize..20,
        filters in 1usize..20,
        half in 0usize..3,
        stride in 1usize..3,
        padding in 0usize..3,
    ) {
        let (device, geometry) = (Device::flex(), Geometry { stride, padding });
        let kernel = 2 * half + 1;
        let image = filled([1, height, width, channels], 1.0, &device);
        let weight = filled([filters, channels, kernel, kernel], 1.0, &device);
        let output = convolution_reference(image.clone(), weight.clone(), geometry, None);
        let probe = filled(output.dims(), 1.0, &device);
        let back = convolution_transposed(probe.clone(), weight, geometry, [height, width]).unwrap();
        prop_assert_eq!(back.dims(), image.dims());
        let inner = |a: Tensor<4>, b: Tensor<4>| {
            let products = values(a).into_iter().zip(values(b)).map(|(a, b)| f64::from(a * b));
            products.fold((0.0, 0.0), |(sum, size), one| (sum + one, size + one.abs()))
        };
        let ((ahead, size), (behind, _)) = (inner(output, probe), inner(image, back));
        prop_assert!((ahead - behind).abs() < 1e-5 * size, "{ahead} and {behind}");
    }

    #[test]
    fn any_geometry_is_burns(
        batch in 1usize..4,
        height in 5usize..10,
        width in 5usize..10,
        channels in 1usize..20,
        filters in 1usize..20,
        half in 0usize..3,
        stride in 1usize..3,
        padding in 0usize..3,
        residual: bool,
    ) {
        let geometry = Geometry { stride, padding };
        compare([batch, height, width, channels], filters, 2 * half + 1, geometry, residual);
    }

    #[test]
    fn winograd_is_burns(
        batch in 1usize..6,
        height in 1usize..14,
        width in 1usize..14,
        channels in 12usize..40,
        filters in 12usize..40,
        residual: bool,
    ) {
        let geometry = Geometry { stride: 1, padding: 1 };
        compare([batch, height, width, channels], filters, 3, geometry, residual);
    }
}

#[test]
fn what_is_folded_in_comes_after() {
    let device = Device::flex();
    let prepared = Prepared::default();
    // Two sizes use two forms of the same weight, kept side by side.
    let weight = filled([24, 16, 3, 3], 0.5, &device);
    let (scale, shift) = (filled([24], 1.0, &device), filled([24], 0.3, &device));
    for size in [4, 16, 4, 16] {
        let input = filled([1, size, size, 16], 1.0, &device);
        let geometry = Geometry { stride: 1, padding: 1 };
        let (scale, shift) = (scale.clone(), shift.clone());
        let plain = convolution_reference(input.clone(), weight.clone(), geometry, None);
        let normalized = plain * scale.clone().unsqueeze() + shift.clone().unsqueeze();
        let other = filled(normalized.dims(), 0.8, &device);
        for residual in [None, Some(other)] {
            let expected = match &residual {
                Some(residual) => activation::relu(normalized.clone() + residual.clone()),
                None => activation::relu(normalized.clone()),
            };
            let (input, weight, prepared) = (input.clone(), weight.clone(), Some(&prepared));
            let (scale, shift) = (scale.clone(), shift.clone());
            let folded =
                convolution_folded(input, weight, geometry, scale, shift, residual, prepared);
            assert!(difference(&values(folded), &values(expected)) < TOLERANCE);
        }
    }
}

/// Images that come channels first are views, which the kernel copies.
#[test]
fn a_permuted_image_works() {
    let device = Device::flex();
    let image = filled([2, 3, 8, 8], 1.0, &device).permute([0, 2, 3, 1]);
    let weight = filled([16, 3, 3, 3], 1.0, &device);
    let geometry = Geometry { stride: 1, padding: 1 };
    let ours = convolution(image.clone(), weight.clone(), geometry, None, None);
    let burns = convolution_reference(image, weight, geometry, None);
    assert!(difference(&values(ours), &values(burns)) < TOLERANCE);
}

#[test]
fn an_empty_batch_works() {
    let device = Device::flex();
    let (image, weight) =
        (Tensor::zeros([0, 8, 8, 16], &device), filled([24, 16, 3, 3], 1.0, &device));
    let output = convolution(image, weight, Geometry { stride: 1, padding: 1 }, None, None);
    assert_eq!(output.dims(), [0, 8, 8, 24]);
}
