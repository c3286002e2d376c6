//! Layer normalisation, backward.

use crate::lanes::{LANES, total};
use crate::parallel::{chunks_of_mut, run_all};
use crate::simd::simd;

/// Least rows of a block, whose gradients of gamma and beta are summed together.
const LEAST_ROWS: usize = 32;
/// Most blocks, so that their partial sums stay small beside the rows.
const MOST_BLOCKS: usize = 64;

/// Gradients of the layer normalisation `y = gamma n + beta`, `n = (x - mean) inverse_std`:
///
/// - `dx = inverse_std (g - mean g - n mean(g n))` with `g = gamma dy`, means over the row
/// - `dgamma = sum over rows of dy n`, `dbeta = sum over rows of dy`
///
/// `x` is what was normalised (with a residual: the sum, whose gradient is that of both terms).
/// `parameters` receives dgamma and dbeta; `None` where both are frozen.
///
/// # Shapes
/// - dy, x, dx: `[rows, width]`, statistics: `[rows, 2]`, gamma, dgamma, dbeta: `[width]`
pub fn layer_norm_backward(
    dy: &[f32],
    x: &[f32],
    statistics: &[f32],
    gamma: &[f32],
    dx: &mut [f32],
    parameters: Option<(&mut [f32], &mut [f32])>,
) {
    let width = gamma.len();
    assert_eq!(dy.len(), x.len());
    assert_eq!(dx.len(), x.len());
    if width == 0 {
        return;
    }
    assert_eq!(statistics.len() * width, x.len() * 2);
    let rows = statistics.len() / 2;
    // The rows alone decide the blocks, never the threads: the sums are always the same.
    let block = rows.div_ceil(MOST_BLOCKS).max(LEAST_ROWS);
    let mut partial = parameters.as_ref().map(|_| vec![0.0; rows.div_ceil(block) * 2 * width]);
    let size = block * width;
    let pieces = dy
        .chunks(size)
        .zip(x.chunks(size))
        .zip(statistics.chunks(block * 2))
        .zip(dx.chunks_mut(size))
        .zip(chunks_of_mut(partial.as_deref_mut(), 2 * width));
    run_all(pieces, x.len() / 3, |((((dy, x), statistics), dx), partial)| {
        rows_backward(dy, x, statistics, gamma, dx, partial);
    });
    if let (Some((dgamma, dbeta)), Some(partial)) = (parameters, partial) {
        assert_eq!((dgamma.len(), dbeta.len()), (width, width));
        dgamma.fill(0.0);
        dbeta.fill(0.0);
        for block in partial.chunks_exact(2 * width) {
            add(dgamma, &block[..width]);
            add(dbeta, &block[width..]);
        }
    }
}

simd! {
    fn add(sum: &mut [f32], term: &[f32]) {
        for (sum, term) in sum.iter_mut().zip(term) {
            *sum += term;
        }
    }
}

simd! {
    fn rows_backward(
        dy: &[f32],
        x: &[f32],
        statistics: &[f32],
        gamma: &[f32],
        dx: &mut [f32],
        partial: Option<&mut [f32]>,
    ) {
        let width = gamma.len();
        let mut partial = partial.map(|partial| partial.split_at_mut(width));
        let rows = dy.chunks_exact(width).zip(x.chunks_exact(width));
        for (((dy, x), dx), &[mean, inverse]) in
            rows.zip(dx.chunks_exact_mut(width)).zip(statistics.as_chunks::<2>().0)
        {
            let (first, second) = sums(dy, x, mean, inverse, gamma);
            let scale = inverse / width as f32;
            let (constant, slope) = (-first * scale, -second * scale);
            for (((dx, dy), x), gamma) in dx.iter_mut().zip(dy).zip(x).zip(gamma) {
                let normal = (x - mean) * inverse;
                *dx = (dy * gamma).mul_add(inverse, normal.mul_add(slope, constant));
            }
            if let Some((dgamma, dbeta)) = &mut partial {
                for (((dgamma, dbeta), dy), x) in
                    dgamma.iter_mut().zip(dbeta.iter_mut()).zip(dy).zip(x)
                {
                    *dgamma = ((x - mean) * inverse).mul_add(*dy, *dgamma);
                    *dbeta += dy;
                }
            }
        }
    }
}

/// `(sum g, sum g n)` of a row, `g = gamma dy`, `n = (x - mean) inverse`.
#[inline(always)]
fn sums(dy: &[f32], x: &[f32], mean: f32, inverse: f32, gamma: &[f32]) -> (f32, f32) {
    let (dy, dy_tail) = dy.as_chunks::<LANES>();
    let (x, x_tail) = x.as_chunks::<LANES>();
    let (gamma, gamma_tail) = gamma.as_chunks::<LANES>();
    let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
    for ((dy, x), gamma) in dy.iter().zip(x).zip(gamma) {
        for i in 0..LANES {
            let g = dy[i] * gamma[i];
            first[i] += g;
            second[i] = g.mul_add(x[i] - mean, second[i]);
        }
    }
    let (mut first, mut second) = (total(first), total(second));
    for ((dy, x), gamma) in dy_tail.iter().zip(x_tail).zip(gamma_tail) {
        first = dy.mul_add(*gamma, first);
        second = (dy * gamma).mul_add(x - mean, second);
    }
    (first, second * inverse)
}

#[cfg(test)]
mod tests {
    use super::super::layer_norm;
    use super::*;

    fn values(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 + seed * 101) % 1013) as f32 / 300.0 - 1.7).collect()
    }

    fn close(found: &[f32], expected: &[f64], scale: f64) {
        assert_eq!(found.len(), expected.len());
        for (&found, &expected) in found.iter().zip(expected) {
            assert!((f64::from(found) - expected).abs() < 3e-6 * scale, "{found} {expected}");
        }
    }

    #[test]
    fn is_the_derivative() {
        for (rows, width) in [(0, 5), (1, 2), (3, 7), (5, 33), (40, 100), (700, 384), (3000, 9)] {
            let (dy, x) = (values(rows * width, 1), values(rows * width, 2));
            let (gamma, beta) = (values(width, 3), values(width, 4));
            let mut y = vec![0.0; x.len()];
            let mut statistics = vec![0.0; rows * 2];
            layer_norm(&x, None, &gamma, &beta, 1e-3, &mut y, None, Some(&mut statistics));
            let mut dx = vec![9.0; x.len()];
            let (mut dgamma, mut dbeta) = (vec![9.0; width], vec![9.0; width]);
            layer_norm_backward(
                &dy,
                &x,
                &statistics,
                &gamma,
                &mut dx,
                Some((&mut dgamma, &mut dbeta)),
            );
            let mut alone = vec![9.0; x.len()];
            layer_norm_backward(&dy, &x, &statistics, &gamma, &mut alone, None);
            assert_eq!(dx, alone);

            let n = width as f64;
            let mut expected = vec![0.0; x.len()];
            let (mut for_gamma, mut for_beta) = (vec![0.0; width], vec![0.0; width]);
            for row in 0..rows {
                let place = row * width..(row + 1) * width;
                let x = x[place.clone()].iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
                let dy = dy[place].iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
                let mean = x.iter().sum::<f64>() / n;
                let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
                let inverse = 1.0 / (variance + 1e-3).sqrt();
                let g = dy.iter().zip(&gamma).map(|(dy, &g)| dy * f64::from(g));
                let g = g.collect::<Vec<_>>();
                let first = g.iter().sum::<f64>() / n;
                let second = g.iter().zip(&x).map(|(g, x)| g * (x - mean) * inverse).sum::<f64>();
                for i in 0..width {
                    let normal = (x[i] - mean) * inverse;
                    expected[row * width + i] = inverse * (g[i] - first - normal * second / n);
                    for_gamma[i] += dy[i] * normal;
                    for_beta[i] += dy[i];
                }
            }
            // With two columns the gradient is a small difference of large terms.
            close(&dx, &expected, 20.0);
            close(&dgamma, &for_gamma, 1.0 + rows as f64);
            close(&dbeta, &for_beta, 1.0 + rows as f64);
        }
    }

    #[test]
    fn formula_is_the_slope_of_the_forward() {
        let (x, gamma, beta) = (values(7, 2), values(7, 3), values(7, 4));
        let dy = values(7, 1);
        let loss = |x: &[f32]| {
            let mut y = [0.0; 7];
            layer_norm(x, None, &gamma, &beta, 1e-3, &mut y, None, None);
            y.iter().zip(&dy).map(|(y, dy)| f64::from(y * dy)).sum::<f64>()
        };
        let (mut y, mut statistics, mut dx) = ([0.0; 7], [0.0; 2], [0.0; 7]);
        layer_norm(&x, None, &gamma, &beta, 1e-3, &mut y, None, Some(&mut statistics));
        layer_norm_backward(&dy, &x, &statistics, &gamma, &mut dx, None);
        for i in 0..7 {
            let (mut above, mut below) = (x.clone(), x.clone());
            above[i] += 0.01;
            below[i] -= 0.01;
            let slope = (loss(&above) - loss(&below)) / 0.02;
            assert!((slope - f64::from(dx[i])).abs() < 2e-3, "{slope} {}", dx[i]);
        }
    }
}
