//! Comparing an operation with its reference.

use burn::tensor::{Device, Tensor, TensorData};

/// A deterministic filling with numbers of about the given size.
pub fn filled<const D: usize>(shape: [usize; D], size: f32, device: &Device) -> Tensor<D> {
    let count = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..count).map(|i| size * ((i * 37 + 11) as f32 * 0.7).sin()).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// The values of a tensor.
pub fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

/// Largest difference, relative to the largest value; zero for empty ones.
pub fn difference(ours: &[f32], burns: &[f32]) -> f32 {
    difference_at(1e-3, ours, burns)
}

/// The same, relative to `least` where all values are smaller.
fn difference_at(least: f32, ours: &[f32], burns: &[f32]) -> f32 {
    assert_eq!(ours.len(), burns.len());
    let scale = burns.iter().fold(least, |largest, value| largest.max(value.abs()));
    let largest = |worst: f32, (a, b): (&f32, &f32)| match (a - b).abs() {
        difference if difference.is_nan() => f32::INFINITY,
        difference => worst.max(difference),
    };
    ours.iter().zip(burns).fold(0.0, largest) / scale
}

/// Output and gradients of an operation on flat leaves of the given sizes, under a fixed upstream
/// gradient; the operation shapes its leaves itself.
pub fn evaluate<const D: usize>(
    leaves: &[usize],
    operation: impl Fn(&[Tensor<1>]) -> Tensor<D>,
) -> Vec<Vec<f32>> {
    let device = Device::flex().autodiff();
    let leaves: Vec<Tensor<1>> = leaves
        .iter()
        .enumerate()
        .map(|(index, &size)| {
            let phase =
                filled([size + index + 1], 1.5, &device).slice_dim(0, index + 1..size + index + 1);
            phase.detach().require_grad()
        })
        .collect();
    let output = operation(&leaves);
    let upstream = filled(output.dims(), 1.0, &device);
    let gradients = (output.clone() * upstream).sum().backward();
    let gradient = |leaf: &Tensor<1>| values(leaf.grad(&gradients).expect("a gradient"));
    std::iter::once(values(output.inner())).chain(leaves.iter().map(gradient)).collect()
}

/// Asserts that values and all gradients of two operations agree. Leaves are of size 1, and so are
/// the terms that a small gradient is the difference of: it carries their rounding.
pub fn assert_same<const D: usize>(
    leaves: &[usize],
    tolerance: f32,
    ours: impl Fn(&[Tensor<1>]) -> Tensor<D>,
    burns: impl Fn(&[Tensor<1>]) -> Tensor<D>,
) {
    let (ours, burns) = (evaluate(leaves, ours), evaluate(leaves, burns));
    for (index, (ours, burns)) in ours.iter().zip(&burns).enumerate() {
        let worst = difference_at(1.0, ours, burns);
        assert!(worst < tolerance, "part {index} (0 is the output) of {leaves:?}: {worst}");
    }
}
