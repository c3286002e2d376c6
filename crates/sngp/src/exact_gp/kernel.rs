//! The radial basis function kernel.

use faer::Mat;
use ndarray::{ArrayView2, Axis};

use super::data::{check_finite, check_length_scale};
use super::tiles::{LANES, Lanes, by_tile};
use crate::{Error, Result};

/// The kernel matrix `k(a_i, b_j) = exp(-||a_i - b_j||^2 / (2 l))`, `[rows of a, rows of b]`.
///
/// The length scale `l` is not squared. Distances are summed from differences, not expanded into
/// products: the diagonal of `rbf(a, a, l)` is exactly 1 and near neighbours keep their digits.
///
/// ```
/// use ndarray::array;
/// let a = array![[0.0, 0.0], [1.0, 1.0]];
/// let k = sngp::exact_gp::rbf(a.view(), a.view(), 2.0)?;
/// assert_eq!(k[(0, 0)], 1.0);
/// assert!((k[(0, 1)] - (-0.5_f64).exp()).abs() < 1e-15);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn rbf(a: ArrayView2<f64>, b: ArrayView2<f64>, length_scale: f64) -> Result<Mat<f64>> {
    check_length_scale(length_scale)?;
    if a.ncols() != b.ncols() {
        return Err(Error::shape("columns of the kernel's inputs", a.ncols(), b.ncols()));
    }
    check_finite("kernel inputs", a)?;
    check_finite("kernel inputs", b)?;
    let tiles = by_tile(b, |rows| tile(a, rows, length_scale));
    Ok(Mat::from_fn(a.nrows(), b.nrows(), |i, j| tiles[j / LANES][i][j % LANES]))
}

/// The kernel between every row of `train` and up to [`LANES`] rows of `test`, one a lane.
pub(super) fn tile(train: ArrayView2<f64>, test: ArrayView2<f64>, length_scale: f64) -> Vec<Lanes> {
    let mut columns = vec![[0.0; LANES]; test.ncols()];
    for (lane, row) in test.axis_iter(Axis(0)).enumerate() {
        for (column, &value) in columns.iter_mut().zip(row) {
            column[lane] = value;
        }
    }
    train
        .axis_iter(Axis(0))
        .map(|row| {
            let mut squares = [0.0; LANES];
            for (&value, column) in row.iter().zip(&columns) {
                for (square, other) in squares.iter_mut().zip(column) {
                    let difference = value - other;
                    *square += difference * difference;
                }
            }
            // Divide before halving: neither an infinite square nor an extreme length scale can
            // then turn into NaN.
            squares.map(|square| (-0.5 * (square / length_scale)).exp())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn the_length_scale_is_not_squared() {
        let (a, b) = (array![[0.0, 0.0], [1.0, 2.0]], array![[3.0, 4.0]]);
        let k = rbf(a.view(), b.view(), 10.0).unwrap();
        assert_eq!(k.shape(), (2, 1));
        assert!((k[(0, 0)] - (-25.0_f64 / 20.0).exp()).abs() < 1e-15);
        assert!((k[(1, 0)] - (-8.0_f64 / 20.0).exp()).abs() < 1e-15);
    }

    #[test]
    fn extremes_are_zero_or_one_and_never_nan() {
        let a = array![[f64::MAX], [-f64::MAX], [0.0]];
        for length_scale in [5e-324, 1.0, f64::MAX] {
            let k = rbf(a.view(), a.view(), length_scale).unwrap();
            for i in 0..3 {
                assert_eq!(k[(i, i)], 1.0);
                assert_eq!(k[(i, (i + 1) % 3)], 0.0);
            }
        }
    }

    #[test]
    fn symmetric_whatever_the_tile() {
        let a = Array2::from_shape_fn((37, 3), |(i, j)| ((i * 7 + j * 3) as f64).sin());
        let k = rbf(a.view(), a.view(), 0.7).unwrap();
        for i in 0..37 {
            for j in 0..i {
                assert_eq!(k[(i, j)], k[(j, i)]);
            }
        }
        assert_eq!(rbf(a.view(), Array2::zeros((0, 3)).view(), 1.0).unwrap().shape(), (37, 0));
    }

    #[test]
    fn bad_input_is_refused() {
        let a = array![[0.0, 1.0]];
        for length_scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = rbf(a.view(), a.view(), length_scale).unwrap_err().to_string();
            assert!(error.contains("length scale"), "{error}");
        }
        assert!(matches!(rbf(a.view(), array![[1.0]].view(), 1.0), Err(Error::Shape { .. })));
        let error = rbf(a.view(), array![[1.0, f64::NAN]].view(), 1.0).unwrap_err().to_string();
        assert!(error.contains("row 0, column 1 is NaN"), "{error}");
    }
}
