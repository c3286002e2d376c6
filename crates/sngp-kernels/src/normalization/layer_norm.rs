//! Layer normalisation, forward, with the residual sum fused in.

use crate::lanes::{LANES, sum as sum_of, total};
use crate::parallel::{chunks_of, chunks_of_mut, run_all};
use crate::simd::simd;

/// Rows of one piece of work.
const ROWS: usize = 16;

/// Layer normalisation of every row: `y = gamma (s - mean s) / sqrt(var s + epsilon) + beta`, with
/// `s = x + residual`, or `s = x` without a residual.
///
/// For the backward, `sum` receives `s` and `statistics` the mean and the inverse standard
/// deviation of each row.
///
/// # Shapes
/// - x, residual, y, sum: `[rows, width]`, gamma, beta: `[width]`, statistics: `[rows, 2]`
#[allow(clippy::too_many_arguments)]
pub fn layer_norm(
    x: &[f32],
    residual: Option<&[f32]>,
    gamma: &[f32],
    beta: &[f32],
    epsilon: f32,
    y: &mut [f32],
    sum: Option<&mut [f32]>,
    statistics: Option<&mut [f32]>,
) {
    let width = gamma.len();
    assert_eq!(beta.len(), width);
    assert_eq!(y.len(), x.len());
    assert!(residual.is_none_or(|residual| residual.len() == x.len()));
    assert!(sum.as_ref().is_none_or(|sum| sum.len() == x.len()));
    if width == 0 {
        return;
    }
    assert_eq!(x.len() % width, 0);
    assert!(statistics.as_ref().is_none_or(|s| s.len() * width == x.len() * 2));
    let size = ROWS * width;
    let pieces = x
        .chunks(size)
        .zip(y.chunks_mut(size))
        .zip(chunks_of(residual, size))
        .zip(chunks_of_mut(sum, size))
        .zip(chunks_of_mut(statistics, ROWS * 2));
    run_all(pieces, x.len() / 4, |((((x, y), residual), sum), statistics)| {
        rows(x, residual, gamma, beta, epsilon, y, sum, statistics);
    });
}

simd! {
    fn rows(
        x: &[f32],
        residual: Option<&[f32]>,
        gamma: &[f32],
        beta: &[f32],
        epsilon: f32,
        y: &mut [f32],
        sum: Option<&mut [f32]>,
        statistics: Option<&mut [f32]>,
    ) {
        let width = gamma.len();
        let (mut sum, mut statistics) = (sum, statistics);
        for (row, (x, y)) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)).enumerate() {
            let place = row * width..(row + 1) * width;
            if let Some(residual) = residual {
                // The sum is formed in the output, then normalised where it is.
                for ((y, x), residual) in y.iter_mut().zip(x).zip(&residual[place.clone()]) {
                    *y = x + residual;
                }
            }
            let (rough, rest, deviation) =
                if residual.is_some() { moments(y, epsilon) } else { moments(x, epsilon) };
            if let Some(sum) = &mut sum {
                sum[place].copy_from_slice(if residual.is_some() { y } else { x });
            }
            let inverse = 1.0 / deviation;
            let shift = -rest * inverse;
            if residual.is_some() {
                for ((y, gamma), beta) in y.iter_mut().zip(gamma).zip(beta) {
                    *y = gamma.mul_add((*y - rough).mul_add(inverse, shift), *beta);
                }
            } else {
                for (((y, x), gamma), beta) in y.iter_mut().zip(x).zip(gamma).zip(beta) {
                    *y = gamma.mul_add((x - rough).mul_add(inverse, shift), *beta);
                }
            }
            if let Some(statistics) = &mut statistics {
                statistics[row * 2] = rough + rest;
                statistics[row * 2 + 1] = inverse;
            }
        }
    }
}

/// The mean as a rough value and the rest, and `sqrt(var + epsilon)`.
///
/// The first pass gives the rough mean. The second takes the moments of the differences from it,
/// small numbers even where the mean is a thousand standard deviations: they correct the mean and
/// give the variance without cancellation.
#[inline(always)]
fn moments(row: &[f32], epsilon: f32) -> (f32, f32, f32) {
    let scale = 1.0 / row.len() as f32;
    let rough = sum_of(row) * scale;
    let (blocks, tail) = row.as_chunks::<LANES>();
    let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
    for block in blocks {
        for i in 0..LANES {
            let difference = block[i] - rough;
            first[i] += difference;
            second[i] = difference.mul_add(difference, second[i]);
        }
    }
    let (mut first, mut second) = (total(first), total(second));
    for x in tail {
        let difference = x - rough;
        first += difference;
        second = difference.mul_add(difference, second);
    }
    let rest = first * scale;
    let variance = second.mul_add(scale, -rest * rest).max(0.0);
    (rough, rest, (variance + epsilon).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 + seed * 101) % 1013) as f32 / 300.0 - 1.7).collect()
    }

    /// Largest difference from the formula in f64; also checks what is kept.
    fn error(rows: usize, width: usize, offset: f32, with_residual: bool) -> f64 {
        let x = values(rows * width, 1).into_iter().map(|x| x + offset).collect::<Vec<_>>();
        let residual = values(rows * width, 2);
        let residual = with_residual.then_some(&residual[..]);
        let (gamma, beta) = (values(width, 3), values(width, 4));
        let mut y = vec![9.0; x.len()];
        let (mut sum, mut statistics) = (vec![9.0; x.len()], vec![9.0; rows * 2]);
        layer_norm(
            &x,
            residual,
            &gamma,
            &beta,
            1e-5,
            &mut y,
            Some(&mut sum),
            Some(&mut statistics),
        );
        let mut alone = vec![9.0; x.len()];
        layer_norm(&x, residual, &gamma, &beta, 1e-5, &mut alone, None, None);
        assert_eq!(y, alone);
        let mut worst = 0.0_f64;
        for row in 0..rows {
            let s = (row * width..(row + 1) * width)
                .map(|i| x[i] + residual.map_or(0.0, |r| r[i]))
                .collect::<Vec<_>>();
            assert_eq!(s, sum[row * width..(row + 1) * width]);
            let mean = s.iter().map(|&s| f64::from(s)).sum::<f64>() / width as f64;
            let square = s.iter().map(|&s| (f64::from(s) - mean).powi(2)).sum::<f64>();
            let inverse = 1.0 / (square / width as f64 + 1e-5).sqrt();
            worst = worst.max((f64::from(statistics[row * 2]) - mean).abs() / mean.abs().max(1.0));
            worst = worst.max((f64::from(statistics[row * 2 + 1]) / inverse - 1.0).abs());
            for i in 0..width {
                let normal = (f64::from(s[i]) - mean) * inverse;
                let expected = normal * f64::from(gamma[i]) + f64::from(beta[i]);
                worst = worst.max((f64::from(y[row * width + i]) - expected).abs());
            }
        }
        worst
    }

    #[test]
    fn is_the_formula() {
        for (rows, width) in [(0, 5), (1, 2), (3, 7), (5, 33), (40, 100), (700, 384), (1, 768)] {
            for with_residual in [false, true] {
                let error = error(rows, width, 0.0, with_residual);
                assert!(error < 2e-6, "{rows} x {width}: {error}");
            }
        }
    }

    #[test]
    fn is_accurate_far_from_zero() {
        // A mean of a thousand standard deviations, and one of ten thousand.
        for (offset, bound) in [(1e3, 3e-6), (-1e4, 3e-6)] {
            let error = error(9, 384, offset, false);
            println!("mean {offset}: {error:e}");
            assert!(error < bound, "{offset}: {error}");
        }
    }

    #[test]
    fn a_constant_row_gives_beta() {
        let mut y = [0.0; 40];
        layer_norm(&[0.1; 40], None, &[2.0; 40], &[0.5; 40], 1e-5, &mut y, None, None);
        assert!(y.iter().all(|y| (y - 0.5).abs() < 1e-4));
    }
}
