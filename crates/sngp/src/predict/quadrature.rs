//! Gauss-Hermite quadrature.

use faer::{Mat, Side};

/// `E f(m)` for `m ~ N(mean, variance)`, with `points` Gauss-Hermite nodes.
pub(crate) fn expectation(mean: f64, variance: f64, points: usize, f: impl Fn(f64) -> f64) -> f64 {
    let deviation = variance.max(0.0).sqrt();
    nodes(points).iter().map(|&(x, w)| w * f(mean + deviation * x)).sum()
}

/// Nodes and weights for the standard normal density, by Golub and Welsch: the nodes are the
/// eigenvalues of the Hermite polynomials' Jacobi matrix, the weights the squared first
/// components of its eigenvectors.
fn nodes(points: usize) -> Vec<(f64, f64)> {
    let jacobi = Mat::from_fn(points, points, |i, j| {
        if i.abs_diff(j) == 1 { (i.max(j) as f64).sqrt() } else { 0.0 }
    });
    // A symmetric tridiagonal matrix of at most 100 rows always has its eigenvalues; were it
    // not so, the single node at the mean is the honest coarsest rule.
    match jacobi.self_adjoint_eigen(Side::Lower) {
        Ok(eigen) => {
            (0..points).map(|k| (eigen.S().column_vector()[k], eigen.U()[(0, k)].powi(2))).collect()
        }
        Err(_) => vec![(0.0, 1.0)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_up_to_degree_2n_minus_1_are_exact() {
        // E m^4 = mean^4 + 6 mean^2 v + 3 v^2
        let value = expectation(0.5, 2.0, 3, |m| m.powi(4));
        assert!((value - (0.0625 + 3.0 + 12.0)).abs() < 1e-12, "{value}");
    }
}
