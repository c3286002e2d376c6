//! The fused kernel against Burn's own ops: values and gradients.

use burn::tensor::{Device, Tensor, TensorData};
use proptest::prelude::*;
use sngp_kernels::{Prepared, random_features_reference};

type Kernel = fn(Tensor<2>, Tensor<2>, Tensor<1>, f64) -> Tensor<2>;

fn random_features(input: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>, scale: f64) -> Tensor<2> {
    sngp_kernels::random_features(input, weight, bias, scale, &Prepared::default())
}

/// A deterministic filling with numbers of about the given size.
fn filled<const D: usize>(shape: [usize; D], size: f32, device: &Device) -> Tensor<D> {
    let count = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..count).map(|i| size * ((i * 37 + 11) as f32 * 0.7).sin()).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Largest difference of two tensors; zero for empty ones.
fn difference(a: Tensor<2>, b: Tensor<2>) -> f32 {
    assert_eq!(a.dims(), b.dims());
    let (a, b) =
        (a.into_data().try_to_vec::<f32>().unwrap(), b.into_data().try_to_vec::<f32>().unwrap());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Output and input gradient of a kernel under a fixed upstream gradient.
fn evaluate(
    kernel: Kernel,
    rows: usize,
    inputs: usize,
    features: usize,
    transposed: bool,
) -> (Tensor<2>, Tensor<2>) {
    let device = Device::flex().autodiff();
    let source = match transposed {
        false => filled([rows, inputs], 3.0, &device).require_grad(),
        true => filled([inputs, rows], 3.0, &device).require_grad(),
    };
    // A transposed view is not contiguous.
    let input = if transposed { source.clone().transpose() } else { source.clone() };
    let weight = filled([inputs, features], 1.5, &device);
    let output = kernel(input, weight, filled([features], 3.0, &device), 0.3);
    let upstream = filled([rows, features], 1.0, &device);
    let gradients = (output.clone() * upstream).sum().backward();
    (output.inner(), source.grad(&gradients).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn values_and_gradients_are_burns(
        rows in 1usize..100,
        inputs in 1usize..40,
        features in 1usize..150,
        transposed: bool,
    ) {
        let (ours, our_gradient) = evaluate(random_features, rows, inputs, features, transposed);
        let (burns, burns_gradient) =
            evaluate(random_features_reference, rows, inputs, features, transposed);
        prop_assert!(difference(ours, burns) < 1e-5);
        let tolerance = 1e-5 * features as f32;
        prop_assert!(difference(our_gradient, burns_gradient) < tolerance);
    }
}

#[test]
fn empty_and_single_row_batches_work() {
    let device = Device::flex();
    for rows in [0, 1] {
        let input = Tensor::<2>::zeros([rows, 3], &device);
        let weight = filled([3, 5], 1.0, &device);
        let phi = random_features(input, weight, filled([5], 1.0, &device), 1.0);
        assert_eq!(phi.dims(), [rows, 5]);
    }
}

#[test]
fn a_weight_that_is_trained_gets_its_gradient() {
    let device = Device::flex().autodiff();
    let weight = filled([3, 5], 1.0, &device).require_grad();
    let input = filled([4, 3], 1.0, &device);
    let phi = random_features(input, weight.clone(), filled([5], 1.0, &device), 1.0);
    let gradients = phi.sum().backward();
    assert!(weight.grad(&gradients).is_some());
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| evaluate(random_features, 150, 33, 70, false))
            .0
            .into_data()
            .try_to_vec::<f32>()
            .unwrap()
    };
    assert_eq!(with(1), with(2));
}
