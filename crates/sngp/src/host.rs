//! Between device tensors (f32) and host arrays (f64).

use burn::tensor::Tensor;
use ndarray::Array2;

/// A tensor's values in row-major order.
pub(crate) fn vector<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// A matrix on the host.
pub(crate) fn matrix(tensor: Tensor<2>) -> Array2<f64> {
    matrix_f32(tensor).mapv(f64::from)
}

/// A matrix on the host in the device's own precision.
pub(crate) fn matrix_f32(tensor: Tensor<2>) -> Array2<f32> {
    let shape = tensor.dims();
    let data = tensor.into_data();
    let values = data.try_to_vec::<f32>().unwrap_or_else(|_| data.iter::<f32>().collect());
    Array2::from_shape_vec(shape, values).expect("a tensor has as many values as its shape says")
}
