//! What is done to gradients before an optimiser's step.

use burn::backend::Flex;
use burn::tensor::Tensor;
use rayon::prelude::*;

use super::optimizer::{PIECE, flex, whole};
use crate::array::Array;
use crate::simd::simd;

/// `sum x^2`, the same for any number of threads.
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let x = Tensor::<1>::from_floats([3.0, 4.0], &Device::flex());
/// assert_eq!(sngp_kernels::sum_of_squares(x), 25.0);
/// ```
pub fn sum_of_squares<const D: usize>(tensor: Tensor<D>) -> f64 {
    match flex([tensor]) {
        Ok([values]) => {
            let values = Array::new(values);
            let sums: Vec<f32> = values.par_chunks(PIECE).map(squares).collect();
            sums.into_iter().map(f64::from).sum()
        }
        Err([tensor]) => f64::from(tensor.square().sum().into_scalar::<f32>()),
    }
}

/// `factor x`, written over the old values where no one else holds them.
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let x = Tensor::<1>::from_floats([3.0, 4.0], &Device::flex());
/// assert_eq!(sngp_kernels::scaled(x, 2.0).sum().into_scalar::<f32>(), 14.0);
/// ```
pub fn scaled<const D: usize>(tensor: Tensor<D>, factor: f64) -> Tensor<D> {
    match flex([tensor]) {
        Ok([values]) => {
            let mut values = whole(values);
            let pieces = values.storage_mut::<f32>().par_chunks_mut(PIECE);
            pieces.for_each(|piece| multiply(piece, factor as f32));
            Tensor::from_primitive::<Flex>(values)
        }
        Err([tensor]) => tensor * factor,
    }
}

/// Independent partial sums: one addition would wait for the other.
const LANES: usize = 32;

fn squares(values: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    add_squares(values, &mut sums);
    sums.iter().sum()
}

simd! {
    fn add_squares(values: &[f32], sums: &mut [f32; LANES]) {
        let (lines, rest) = values.as_chunks::<LANES>();
        for line in lines {
            for (sum, value) in sums.iter_mut().zip(line) {
                *sum = value.mul_add(*value, *sum);
            }
        }
        for (sum, value) in sums.iter_mut().zip(rest) {
            *sum = value.mul_add(*value, *sum);
        }
    }
}

simd! {
    fn multiply(values: &mut [f32], factor: f32) {
        for value in values {
            *value *= factor;
        }
    }
}
