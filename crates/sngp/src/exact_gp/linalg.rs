//! Dense linear algebra through faer, with typed errors.
//!
//! Every call is sequential: the order of summation, and so the last bit of a prediction, is
//! then the same on any number of threads. Parallelism is over classes and test rows instead.

use faer::linalg::matmul::{matmul, triangular};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Accum, Mat, MatRef, Par};
use triangular::BlockStructure::{Rectangular, TriangularLower, TriangularUpper};

use crate::Result;

/// The lower Cholesky factor, sequentially.
pub(super) fn cholesky(
    matrix: Mat<f64>,
    what: &'static str,
    hint: &'static str,
) -> Result<Mat<f64>> {
    crate::linalg::cholesky(matrix, what, hint, Par::Seq)
}

/// `I + S K S` for a diagonal `S`, factorized. Its eigenvalues are 1 or more, so this fails only
/// if something is not finite.
pub(super) fn cholesky_scaled(kernel: MatRef<f64>, scale: &[f64]) -> Result<Mat<f64>> {
    let size = kernel.nrows();
    let matrix = Mat::from_fn(size, size, |i, j| {
        let entry = scale[i] * kernel[(i, j)] * scale[j];
        if i == j { 1.0 + entry } else { entry }
    });
    cholesky(matrix, "I + S K S", "the latents have overflowed; check the scale of the inputs")
}

/// `L^-1 rhs`.
pub(super) fn solve_lower(lower: MatRef<f64>, mut rhs: Mat<f64>) -> Mat<f64> {
    solve_lower_triangular_in_place(lower, rhs.as_mut(), Par::Seq);
    rhs
}

/// `(L L^T)^-1 rhs`.
pub(super) fn solve(lower: MatRef<f64>, rhs: Mat<f64>) -> Mat<f64> {
    let mut rhs = solve_lower(lower, rhs);
    solve_upper_triangular_in_place(lower.transpose(), rhs.as_mut(), Par::Seq);
    rhs
}

/// `S (L L^T)^-1 S` for a diagonal `S`.
pub(super) fn scaled_inverse(lower: MatRef<f64>, scale: &[f64]) -> Mat<f64> {
    let size = lower.nrows();
    let mut root = Mat::zeros(size, size);
    invert_lower_triangular(root.as_mut(), lower, Par::Seq);
    for (column, &scale) in scale.iter().enumerate() {
        root.col_as_slice_mut(column)[column..].iter_mut().for_each(|entry| *entry *= scale);
    }
    let mut inverse = Mat::zeros(size, size);
    triangular::matmul(
        inverse.as_mut(),
        Rectangular,
        Accum::Replace,
        root.transpose(),
        TriangularUpper,
        root.as_ref(),
        TriangularLower,
        1.0,
        Par::Seq,
    );
    inverse
}

/// `a b`.
pub(super) fn product(a: MatRef<f64>, b: MatRef<f64>) -> Mat<f64> {
    let mut product = Mat::zeros(a.nrows(), b.ncols());
    matmul(product.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    product
}

/// `a - b^T b`, its lower triangle only.
pub(super) fn minus_gram(mut a: Mat<f64>, b: MatRef<f64>) -> Mat<f64> {
    triangular::matmul(
        a.as_mut(),
        TriangularLower,
        Accum::Add,
        b.transpose(),
        Rectangular,
        b,
        Rectangular,
        -1.0,
        Par::Seq,
    );
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn example(size: usize) -> Mat<f64> {
        Mat::from_fn(size, size, |i, j| {
            let distance = i.abs_diff(j) as f64;
            (-0.1 * distance * distance).exp() + if i == j { 0.5 } else { 0.0 }
        })
    }

    #[test]
    fn solve_and_scaled_inverse_invert() {
        for size in [1, 5, 70] {
            let matrix = example(size);
            let lower = cholesky(matrix.clone(), "example", "").unwrap();
            let identity = Mat::<f64>::identity(size, size);
            let inverse = scaled_inverse(lower.as_ref(), &vec![1.0; size]);
            assert!((product(inverse.as_ref(), matrix.as_ref()) - &identity).norm_max() < 1e-12);
            let solved = solve(lower.as_ref(), matrix);
            assert!((solved - identity).norm_max() < 1e-12);
        }
    }

    #[test]
    fn an_indefinite_matrix_is_an_error_that_says_where() {
        let matrix = Mat::from_fn(3, 3, |i, j| if i != j { 0.0 } else { [1.0, -1.0, 1.0][i] });
        let error = cholesky(matrix, "the example", "choose another").unwrap_err();
        assert!(matches!(error, Error::NotPositiveDefinite { pivot: 1, size: 3, .. }), "{error}");
        let nan = Mat::from_fn(2, 2, |_, _| f64::NAN);
        assert!(cholesky(nan, "nan", "").is_err());
    }
}
