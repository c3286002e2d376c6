//! The Laplace posterior's two operations: adding a batch to the precision, and the variance.

use burn::tensor::Tensor;
use burn_flex::FlexTensor;
use rayon::prelude::*;

use crate::array::{Array, tensor, uninitialized};
use crate::device::takes;
use crate::gemm::{Left, PANEL, Packed, Plain, Right, multiply_here};
use crate::lanes::dot;
use crate::op::{Kernel, apply_2};
use crate::prepared::Prepared;
use crate::simd::simd;

/// Columns of the precision that one piece of work adds to.
const COLUMNS: usize = 48;

/// Adds `features^T features` to the lower triangle of a column-major f64 matrix.
///
/// The product of one batch is taken in f32, half of it only, tile by tile; the sum over batches
/// is kept in f64, so that it does not drift with their number.
///
/// ```
/// let mut sum = [0.0; 4];
/// sngp_kernels::rank_update(&mut sum, &[1.0, 2.0, 3.0, 4.0], 2);
/// assert_eq!([sum[0], sum[1], sum[3]], [10.0, 14.0, 20.0]);
/// ```
pub fn rank_update(sum: &mut [f64], features: &[f32], dimension: usize) {
    assert_eq!(sum.len(), dimension * dimension, "the size of the precision");
    let rows = features.len().checked_div(dimension).unwrap_or(0);
    assert_eq!(features.len(), rows * dimension, "whole rows of features");
    if rows == 0 {
        return;
    }
    let packed = Packed::rows(features, rows, dimension);
    sum.par_chunks_mut(COLUMNS * dimension).enumerate().with_max_len(1).for_each(|(index, sum)| {
        let first = index * COLUMNS;
        let columns = sum.len() / dimension;
        // From the panel of the diagonal down.
        let panel = first / PANEL;
        let below = dimension - panel * PANEL;
        let left = Left {
            values: &features[first..],
            rows: columns,
            inner: rows,
            row_stride: 1,
            column_stride: dimension,
        };
        let mut product = uninitialized(columns * below);
        let right = Right::packed(&packed).part(panel, below.div_ceil(PANEL), rows);
        multiply_here(left, right, &mut product, below, false, &Plain);
        for (sum, product) in sum.chunks_exact_mut(dimension).zip(product.chunks_exact(below)) {
            for (sum, product) in sum[panel * PANEL..].iter_mut().zip(product) {
                *sum += f64::from(*product);
            }
        }
    });
}

/// Columns of a factor that are taken together.
const GROUP: usize = 4 * PANEL;

/// `v[row, k] = ||features[row] factors[k]||^2` for upper-triangular factors.
///
/// `prepared` belongs to whoever holds the factors: it keeps their packed triangles.
///
/// # Shapes
/// - features: `[rows, dimension]`, factors: `[matrices, dimension, dimension]`
/// - output: `[rows, matrices]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp_kernels::{Prepared, variance};
///
/// let device = Device::flex();
/// let factors = Tensor::<3>::from_floats([[[1.0, 2.0], [0.0, 3.0]]], &device);
/// let features = Tensor::<2>::from_floats([[1.0, 1.0]], &device);
/// let v = variance(features, factors, &Prepared::default());
/// assert_eq!(v.into_scalar::<f32>(), 26.0);
/// ```
pub fn variance(features: Tensor<2>, factors: Tensor<3>, prepared: &Prepared) -> Tensor<2> {
    let tracked = features.is_tracked() || factors.is_tracked();
    let fits = features.dims()[1] == factors.dims()[1] && factors.dims()[1] == factors.dims()[2];
    if tracked || !fits || !takes(&features) || !takes(&factors) {
        return variance_reference(features, factors);
    }
    apply_2(Variance { prepared: prepared.clone() }, features, factors)
}

/// The same in Burn's own ops, for every other device, and where it is differentiated.
pub fn variance_reference(features: Tensor<2>, factors: Tensor<3>) -> Tensor<2> {
    let [matrices, n, _] = factors.dims();
    let columns = (0..matrices).map(|k| {
        let factor = factors.clone().slice_dim(0, k..k + 1).reshape([n, n]);
        features.clone().matmul(factor).square().sum_dim(1)
    });
    Tensor::cat(columns.collect(), 1)
}

#[derive(Debug)]
struct Variance {
    prepared: Prepared,
}

/// One triangular factor in groups of columns, each with the rows above its last column only.
struct Triangle {
    groups: Vec<Packed>,
}

impl Triangle {
    fn new(factor: &[f32], n: usize) -> Self {
        let groups = (0..n).step_by(GROUP).map(|first| {
            let end = (first + GROUP).min(n);
            let columns: Vec<f32> = (0..end)
                .flat_map(|row| factor[row * n + first..row * n + end].iter().copied())
                .collect();
            Packed::rows(&columns, end, end - first)
        });
        Self { groups: groups.collect() }
    }
}

simd! {
    /// `||row||^2` of every row.
    fn squared_norms(values: &[f32], columns: usize, out: &mut [f32]) {
        for (out, row) in out.iter_mut().zip(values.chunks_exact(columns)) {
            *out = dot(row, row);
        }
    }
}

impl Kernel for Variance {
    fn forward(&self, inputs: &[Array], _keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let [features, factors] = inputs else { unreachable!("two inputs") };
        let (rows, n) = features.rows_and_width();
        let matrices = factors.shape()[0];
        let triangles = self.prepared.of(factors.tensor(), || {
            let triangles = factors.chunks_exact(n * n).map(|factor| Triangle::new(factor, n));
            triangles.collect::<Vec<_>>()
        });
        let groups = n.div_ceil(GROUP);
        // The squares of one group of columns, for every row: summed up in order afterwards.
        let piece = |index: usize| {
            let group = &triangles[index / groups].groups[index % groups];
            let mut image = uninitialized(rows * group.columns());
            let left = Left {
                values: features,
                rows,
                inner: group.inner(),
                row_stride: n,
                column_stride: 1,
            };
            let right = Right::packed(group);
            multiply_here(left, right, &mut image, group.columns(), false, &Plain);
            let mut squares = uninitialized(rows);
            squared_norms(&image, group.columns(), &mut squares);
            squares
        };
        let work = rows * matrices * n * n / 2;
        let parts: Vec<Vec<f32>> = if work < 1 << 18 {
            (0..matrices * groups).map(piece).collect()
        } else {
            (0..matrices * groups).into_par_iter().with_max_len(1).map(piece).collect()
        };
        let mut out = vec![0.0; rows * matrices];
        for (index, part) in parts.iter().enumerate() {
            for (row, square) in part.iter().enumerate() {
                out[row * matrices + index / groups] += square;
            }
        }
        (tensor(out, [rows, matrices]), Vec::new())
    }

    fn backward(
        &self,
        _kept: &[Array],
        _gradient: &Array,
        _wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        unreachable!("a tracked variance takes Burn's own ops")
    }
}
