//! Prediction, a few test rows at a time, one row a SIMD lane.
//!
//! Each lane runs the same operations in the same order whatever its neighbours hold, so a row's
//! prediction is the same to the bit in any batch. A library's matrix product promises no such
//! thing: its summation order follows the shape of the batch.

use faer::{Mat, MatRef};
use ndarray::{ArrayView2, Axis};
use rayon::prelude::*;

/// Test rows computed together: enough to hide latency, few enough to stay in registers.
pub(super) const LANES: usize = 8;

/// One number for each of the [`LANES`] test rows.
pub(super) type Lanes = [f64; LANES];

/// Runs `body` on every tile of up to [`LANES`] rows of `test`, in parallel; results in order.
pub(super) fn by_tile<T: Send>(
    test: ArrayView2<f64>,
    body: impl Fn(ArrayView2<f64>) -> T + Sync + Send,
) -> Vec<T> {
    let chunks: Vec<_> = test.axis_chunks_iter(Axis(0), LANES).collect();
    chunks.into_par_iter().map(body).collect()
}

/// `tile^T weights`: for every column of `weights` its sum over the training rows.
pub(super) fn weighted_sums(tile: &[Lanes], weights: &Mat<f64>) -> Vec<Lanes> {
    (0..weights.ncols())
        .map(|column| {
            let mut sums = [0.0; LANES];
            for (row, &weight) in tile.iter().zip(weights.col_as_slice(column)) {
                add_scaled(&mut sums, row, weight);
            }
            sums
        })
        .collect()
}

/// The lower triangle of a square matrix, row after row.
#[derive(Clone, Debug)]
pub(super) struct Triangle(Vec<f64>);

impl Triangle {
    pub(super) fn from_lower(matrix: MatRef<f64>) -> Self {
        let size = matrix.nrows();
        let mut entries = Vec::with_capacity(size * (size + 1) / 2);
        for row in 0..size {
            entries.extend((0..=row).map(|column| matrix[(row, column)]));
        }
        Self(entries)
    }

    /// The rows: what is left of the diagonal, and the diagonal.
    fn rows(&self) -> impl Iterator<Item = (&[f64], f64)> {
        let mut rest = self.0.as_slice();
        (0..).map_while(move |left| {
            let (row, tail) = rest.split_at_checked(left + 1)?;
            rest = tail;
            Some((&row[..left], row[left]))
        })
    }

    /// `||L^-1 k||^2` for every lane `k` of `tile`, which holds `L^-1 k` afterwards.
    pub(super) fn solve_norms(&self, tile: &mut [Lanes]) -> Lanes {
        let mut norms = [0.0; LANES];
        for (i, (left, diagonal)) in self.rows().enumerate() {
            let sums = dot(left, tile);
            for ((value, sum), norm) in tile[i].iter_mut().zip(sums).zip(&mut norms) {
                *value = (*value - sum) / diagonal;
                *norm += *value * *value;
            }
        }
        norms
    }

    /// `k^T Q k` for every lane `k` of `tile`, `Q` being symmetric.
    pub(super) fn quadratic(&self, tile: &[Lanes]) -> Lanes {
        let mut forms = [0.0; LANES];
        for (i, (left, diagonal)) in self.rows().enumerate() {
            let sums = dot(left, tile);
            for ((value, sum), form) in tile[i].iter().zip(sums).zip(&mut forms) {
                *form += value * (2.0 * sum + diagonal * value);
            }
        }
        forms
    }
}

/// `sum_j weights_j tile_j` over the first rows of `tile`.
fn dot(weights: &[f64], tile: &[Lanes]) -> Lanes {
    let mut sums = [0.0; LANES];
    for (&weight, row) in weights.iter().zip(tile) {
        add_scaled(&mut sums, row, weight);
    }
    sums
}

#[inline(always)]
fn add_scaled(sums: &mut Lanes, row: &Lanes, weight: f64) {
    for (sum, value) in sums.iter_mut().zip(row) {
        *sum += weight * value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_and_forms_on_a_hand_sized_triangle() {
        // L = [[2, 0], [1, 4]]: L^-1 (2, 9) = (1, 2). As a symmetric Q: 2*4 + 2*18 + 4*81 = 368.
        let lower = Mat::from_fn(2, 2, |i, j| [[2.0, f64::NAN], [1.0, 4.0]][i][j]);
        let triangle = Triangle::from_lower(lower.as_ref());
        let mut tile = [[2.0; LANES], [9.0; LANES]];
        assert_eq!(triangle.quadratic(&tile), [368.0; LANES]);
        assert_eq!(triangle.solve_norms(&mut tile), [5.0; LANES]);
        assert_eq!(tile, [[1.0; LANES], [2.0; LANES]]);
    }

    #[test]
    fn sums_are_weighted_by_column() {
        let weights = Mat::from_fn(2, 2, |i, j| [[1.0, 3.0], [-1.0, 0.5]][i][j]);
        let sums = weighted_sums(&[[2.0; LANES], [4.0; LANES]], &weights);
        assert_eq!(sums, [[-2.0; LANES], [8.0; LANES]]);
    }
}
