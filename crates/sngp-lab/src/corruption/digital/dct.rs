use std::f32::consts::{FRAC_1_SQRT_2, PI};
use std::sync::LazyLock;

/// Rows and columns of a block.
pub(super) const SIDE: usize = 8;

/// A block of 8 x 8 values, row by row.
pub(super) type Block = [f32; SIDE * SIDE];

/// `BASIS[k][n] = c(k) / 2 cos((2n + 1) k pi / 16)`, `c(0) = 1 / sqrt 2`: an orthogonal matrix.
static BASIS: LazyLock<[[f32; SIDE]; SIDE]> = LazyLock::new(|| {
    std::array::from_fn(|k| {
        let norm = if k == 0 { FRAC_1_SQRT_2 / 2.0 } else { 0.5 };
        std::array::from_fn(|n| norm * ((2 * n + 1) as f32 * k as f32 * PI / 16.0).cos())
    })
});

/// The cosine transform of T.81, A.3.3.
pub(super) fn forward(block: &Block) -> Block {
    twice(block, |k, n| BASIS[k][n])
}

/// Its inverse.
pub(super) fn inverse(coefficients: &Block) -> Block {
    twice(coefficients, |n, k| BASIS[k][n])
}

/// `M B M^T`, as two passes that each transform the rows and transpose.
fn twice(block: &Block, matrix: impl Fn(usize, usize) -> f32) -> Block {
    let pass = |input: &Block| -> Block {
        std::array::from_fn(|i| {
            let (to, row) = (i / SIDE, i % SIDE);
            (0..SIDE).map(|from| matrix(to, from) * input[row * SIDE + from]).sum()
        })
    };
    pass(&pass(block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_undoes_the_transform() {
        let block: Block = std::array::from_fn(|i| ((i * i) % 97) as f32);
        let back = inverse(&forward(&block));
        assert!(block.iter().zip(back).all(|(a, b)| (a - b).abs() < 1e-3));
        let flat = forward(&[10.0; 64]);
        assert!((flat[0] - 80.0).abs() < 1e-3 && flat[1..].iter().all(|c| c.abs() < 1e-3));
    }
}
