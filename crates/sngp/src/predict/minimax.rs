//! The paper's minimax result.

use ndarray::{Array2, ArrayView2};

use crate::{Error, Result};

/// `w p + (1 - w) / K` with `w = p(x in domain)`: the distribution with the smallest worst-case
/// risk when nothing is known about inputs outside the domain.
///
/// ```
/// use ndarray::array;
///
/// let mixed = sngp::predict::minimax(array![[0.9, 0.1]].view(), &[0.5])?;
/// assert_eq!(mixed, array![[0.7, 0.3]]);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn minimax(probabilities: ArrayView2<'_, f64>, in_domain: &[f64]) -> Result<Array2<f64>> {
    if in_domain.len() != probabilities.nrows() {
        return Err(Error::shape("in-domain weights", probabilities.nrows(), in_domain.len()));
    }
    if let Some(row) = in_domain.iter().position(|w| !(0.0..=1.0).contains(w)) {
        return Err(Error::Data(format!(
            "row {row}: the in-domain probability is {}, but it must be in [0, 1]",
            in_domain[row]
        )));
    }
    let uniform = 1.0 / probabilities.ncols() as f64;
    Ok(Array2::from_shape_fn(probabilities.raw_dim(), |(i, k)| {
        in_domain[i] * probabilities[[i, k]] + (1.0 - in_domain[i]) * uniform
    }))
}
