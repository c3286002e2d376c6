//! What the kernels do not take goes through Burn's own ops.

use burn::tensor::{DType, Device, Tensor};
use sngp_kernels::{
    Activation, AttentionOptions, Geometry, Prepared, activate, attention, convolution, layer_norm,
    linear, mean_pool, random_features, softmax, variance,
};

use crate::common::{difference, filled};

/// The values of a tensor of any float type.
fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// f64 tensors stand for another device: both paths give the same.
#[test]
fn other_types_take_burns_ops_and_agree() {
    let device = Device::flex();
    let run = |dtype: DType| -> Vec<Vec<f32>> {
        let matrix = |rows, columns| filled([rows, columns], 0.7, &device).cast(dtype);
        let vector = |size: usize| filled([size], 0.7, &device).cast(dtype);
        let image = filled([2, 6, 6, 16], 0.7, &device).cast(dtype);
        let weight = filled([16, 16, 3, 3], 0.3, &device).cast(dtype);
        let qkv = filled([2, 5, 24], 0.7, &device).cast(dtype);
        let factors = filled([1, 9, 9], 0.5, &device).cast(dtype).triu(0);
        let kept = Prepared::default();
        let (identity, gelu) = (Activation::Identity, Activation::Gelu);
        vec![
            numbers(linear(matrix(4, 9), matrix(9, 7), Some(vector(7)), gelu, None, None)),
            numbers(linear(matrix(4, 9), matrix(9, 7), None, identity, None, Some(&kept))),
            numbers(activate(matrix(4, 9), gelu)),
            numbers(softmax(matrix(4, 9))),
            numbers(layer_norm(matrix(4, 9), None, vector(9), vector(9), 1e-5)),
            numbers(attention(qkv, 2, AttentionOptions::default())),
            numbers(convolution(
                image.clone(),
                weight,
                Geometry { stride: 1, padding: 1 },
                None,
                None,
            )),
            numbers(mean_pool(image)),
            numbers(random_features(
                matrix(4, 9),
                matrix(9, 7),
                vector(7),
                0.5,
                &Prepared::default(),
            )),
            numbers(variance(matrix(4, 9), factors, &Prepared::default())),
        ]
    };
    for (index, (ours, burns)) in run(DType::F32).iter().zip(run(DType::F64)).enumerate() {
        assert!(difference(ours, &burns) < 1e-4, "operation {index}");
    }
}
