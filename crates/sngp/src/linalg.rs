//! The few dense operations the library needs from faer, with typed errors.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};
use faer::{Mat, MatRef, Par, Side};
use ndarray::Array2;

use crate::{Error, Result};

/// A row-major host matrix as faer sees it, without a copy.
pub(crate) fn row_major(matrix: &Array2<f64>) -> MatRef<'_, f64> {
    let values = matrix.as_slice().expect("an owned array is in standard layout");
    MatRef::from_row_major_slice(values, matrix.nrows(), matrix.ncols())
}

/// The lower Cholesky factor, from the lower triangle of `matrix`. Above its diagonal the factor
/// is whatever was there.
pub(crate) fn cholesky(
    mut matrix: Mat<f64>,
    what: &'static str,
    hint: &'static str,
    par: Par,
) -> Result<Mat<f64>> {
    let size = matrix.nrows();
    let scratch = cholesky_in_place_scratch::<f64>(size, par, Default::default());
    let mut buffer = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut buffer);
    cholesky_in_place(matrix.as_mut(), Default::default(), par, stack, Default::default())
        .map_err(|LltError::NonPositivePivot { index: pivot }| Error::NotPositiveDefinite {
            what,
            pivot,
            size,
            hint,
        })?;
    Ok(matrix)
}

/// Shares of the scale that are tried on the diagonal, one after the other.
const JITTERS: [f64; 4] = [1e-10, 1e-8, 1e-6, 1e-5];

/// The same for a matrix that may be singular up to rounding, its columns being constant or copies
/// of each other: as little of `scale` as helps is added to its diagonal.
pub(crate) fn cholesky_jittered(
    matrix: MatRef<'_, f64>,
    scale: f64,
    what: &'static str,
    hint: &'static str,
) -> Result<Mat<f64>> {
    let attempt = |jitter: f64| {
        let mut matrix = matrix.to_owned();
        for i in 0..matrix.nrows() {
            matrix[(i, i)] += jitter * scale;
        }
        cholesky(matrix, what, hint, Par::rayon(0))
    };
    let mut root = attempt(0.0);
    for jitter in JITTERS {
        if root.is_ok() {
            break;
        }
        log::info!("{what} is singular: {jitter} of its scale is added");
        root = attempt(jitter);
    }
    root
}

/// Eigenvalues of a symmetric matrix, smallest first.
pub(crate) fn eigenvalues(matrix: &Mat<f64>) -> Result<Vec<f64>> {
    matrix
        .self_adjoint_eigenvalues(Side::Lower)
        .map_err(|_| Error::Data("the eigenvalues of the precision do not converge".to_string()))
}
