//! Softmax and log-softmax of rows, and their gradients, all in place.

use crate::elementary::exp_nonpositive;
use crate::lanes::{dot, larger, largest_of_eight, maximum, sum, total, total_of_eight};
use crate::parallel::run_all;
use crate::scratch::with_scratch;
use crate::simd::simd;

/// Elements of one piece of work, about: whole rows.
const PIECE: usize = 4096;
/// Exponentials taken at a time; small, since rows are short and their tails fill a block.
const BLOCK: usize = 8;

/// `x_i = e^(x_i) / sum_j e^(x_j)` in every row of `width`. A row of only -infinity becomes 0.
pub fn softmax(x: &mut [f32], width: usize) {
    let nanoseconds = x.len();
    run_all(rows(x, width), nanoseconds, |x| softmax_rows(x, width));
}

/// `x_i = x_i - ln sum_j e^(x_j)` in every row of `width`. A row of only -infinity stays so.
pub fn log_softmax(x: &mut [f32], width: usize) {
    let nanoseconds = x.len();
    run_all(rows(x, width), nanoseconds, |x| log_softmax_rows(x, width));
}

/// Gradient of softmax: `dy_i = p_i (dy_i - sum_j p_j dy_j)` with `p` the softmax.
pub fn softmax_backward(p: &[f32], dy: &mut [f32], width: usize) {
    assert_eq!(p.len(), dy.len());
    let nanoseconds = p.len() / 2;
    let pieces = p.chunks(rows_of_piece(width) * width.max(1)).zip(rows(dy, width));
    run_all(pieces, nanoseconds, |(p, dy)| softmax_backward_rows(p, dy, width));
}

/// Gradient of log-softmax: `dy_i = dy_i - e^(y_i) sum_j dy_j` with `y` the log-softmax.
pub fn log_softmax_backward(y: &[f32], dy: &mut [f32], width: usize) {
    assert_eq!(y.len(), dy.len());
    let nanoseconds = y.len();
    let pieces = y.chunks(rows_of_piece(width) * width.max(1)).zip(rows(dy, width));
    run_all(pieces, nanoseconds, |(y, dy)| log_softmax_backward_rows(y, dy, width));
}

fn rows_of_piece(width: usize) -> usize {
    (PIECE / width.max(1)).max(1)
}

fn rows(x: &mut [f32], width: usize) -> impl Iterator<Item = &mut [f32]> {
    assert!(x.is_empty() || width > 0 && x.len().is_multiple_of(width));
    x.chunks_mut(rows_of_piece(width) * width.max(1))
}

/// Softmax of a few rows, in padded working memory: rows of any width are then whole vectors.
fn softmax_rows(x: &mut [f32], width: usize) {
    let (padded, rows) = (width.next_multiple_of(BLOCK), x.len() / width);
    let lengths = [padded, rows * padded, rows * BLOCK, rows];
    with_scratch(lengths, |[mask, work, lanes, inverse]| {
        mask[..width].fill(0.0);
        mask[width..].fill(f32::NEG_INFINITY);
        padded_softmax(x, width, mask, work, lanes, inverse);
    });
}

simd! {
    fn padded_softmax(
        x: &mut [f32],
        width: usize,
        mask: &[f32],
        work: &mut [f32],
        lanes: &mut [f32],
        inverse: &mut [f32],
    ) {
        for (x, work) in x.chunks_exact(width).zip(work.chunks_exact_mut(mask.len())) {
            let (values, padding) = work.split_at_mut(width);
            values.copy_from_slice(x);
            padding.fill(0.0);
        }
        exponentials(work, mask, lanes.as_chunks_mut().0, inverse);
        let rows = x.chunks_exact_mut(width).zip(work.chunks_exact(mask.len()));
        for ((x, work), inverse) in rows.zip(inverse) {
            for (x, work) in x.iter_mut().zip(work) {
                *x = work * *inverse;
            }
        }
    }
}

simd! {
    fn log_softmax_rows(x: &mut [f32], width: usize) {
        for row in x.chunks_exact_mut(width) {
            let largest = maximum(row);
            let shift = largest + sum_of_exponentials(row, largest).ln();
            let shift = if largest == f32::NEG_INFINITY { 0.0 } else { shift };
            for x in row {
                *x -= shift;
            }
        }
    }
}

simd! {
    fn softmax_backward_rows(p: &[f32], dy: &mut [f32], width: usize) {
        for (p, dy) in p.chunks_exact(width).zip(dy.chunks_exact_mut(width)) {
            let mean = dot(p, dy);
            for (dy, &p) in dy.iter_mut().zip(p) {
                *dy = p * (*dy - mean);
            }
        }
    }
}

simd! {
    fn log_softmax_backward_rows(y: &[f32], dy: &mut [f32], width: usize) {
        for (y, dy) in y.chunks_exact(width).zip(dy.chunks_exact_mut(width)) {
            let total = sum(dy);
            for (dy, &y) in dy.iter_mut().zip(y) {
                *dy = (-total).mul_add(exp_nonpositive(y), *dy);
            }
        }
    }
}

/// `rows = e^(rows + mask - largest of the row)`, rows as wide as the mask, a multiple of eight;
/// `inverse` receives one over the sum of each row, 0 where everything is masked.
///
/// Four passes over all rows, two of them over `lanes` only, eight for each row. In one pass every
/// step of a row would wait for the one before; and LLVM would shape the vectors after the last
/// steps of the sum, two lanes wide.
#[inline(always)]
pub(crate) fn exponentials(
    rows: &mut [f32],
    mask: &[f32],
    lanes: &mut [[f32; BLOCK]],
    inverse: &mut [f32],
) {
    let lanes = &mut lanes[..inverse.len()];
    let (width, mask) = (mask.len(), mask.as_chunks::<BLOCK>().0);
    for (row, lanes) in rows.chunks_exact_mut(width).zip(lanes.iter_mut()) {
        let mut best = [f32::NEG_INFINITY; BLOCK];
        for (x, mask) in row.as_chunks_mut::<BLOCK>().0.iter_mut().zip(mask) {
            for i in 0..BLOCK {
                x[i] += mask[i];
                best[i] = larger(x[i], best[i]);
            }
        }
        *lanes = best;
    }
    for (shift, lanes) in inverse.iter_mut().zip(lanes.iter()) {
        *shift = finite(largest_of_eight(lanes));
    }
    for ((row, lanes), &shift) in
        rows.chunks_exact_mut(width).zip(lanes.iter_mut()).zip(inverse.iter())
    {
        let mut sums = [0.0; BLOCK];
        for x in row.as_chunks_mut::<BLOCK>().0 {
            for i in 0..BLOCK {
                x[i] = exp_nonpositive(x[i] - shift);
                sums[i] += x[i];
            }
        }
        *lanes = sums;
    }
    for (inverse, lanes) in inverse.iter_mut().zip(lanes.iter()) {
        let sum = total_of_eight(lanes);
        *inverse = if sum == 0.0 { 0.0 } else { 1.0 / sum };
    }
}

/// The sum of `e^(row - largest)`.
#[inline(always)]
fn sum_of_exponentials(row: &[f32], largest: f32) -> f32 {
    let shift = finite(largest);
    let (blocks, tail) = row.as_chunks::<BLOCK>();
    let mut lanes = [0.0; BLOCK];
    for block in blocks {
        for i in 0..BLOCK {
            lanes[i] += exp_nonpositive(block[i] - shift);
        }
    }
    if !tail.is_empty() {
        let mut block = [f32::NEG_INFINITY; BLOCK];
        block[..tail.len()].copy_from_slice(tail);
        for i in 0..BLOCK {
            lanes[i] += exp_nonpositive(block[i] - shift);
        }
    }
    total(lanes)
}

/// The largest value, 0 where everything is -infinity: -infinity minus itself is NaN.
#[inline(always)]
fn finite(largest: f32) -> f32 {
    if largest == f32::NEG_INFINITY { 0.0 } else { largest }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [(usize, usize); 8] =
        [(0, 5), (1, 1), (3, 7), (5, 33), (40, 100), (3000, 12), (9, 7001), (2000, 32)];

    fn values(count: usize, seed: usize) -> Vec<f32> {
        let value = |i| ((i * 7919 + seed * 101) % 1013) as f32 / 40.0 - 12.0;
        (0..count).map(|i| if i % 11 == 3 { f32::NEG_INFINITY } else { value(i) }).collect()
    }

    fn exact(row: &[f32]) -> Vec<f64> {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let e = row.iter().map(|&x| (f64::from(x) - f64::from(largest)).exp()).collect::<Vec<_>>();
        let sum = e.iter().sum::<f64>();
        e.into_iter().map(|e| e / sum).collect()
    }

    #[test]
    fn forward_is_the_formula() {
        for (rows, width) in SIZES {
            let x = values(rows * width, 1);
            let (mut p, mut y) = (x.clone(), x.clone());
            softmax(&mut p, width);
            log_softmax(&mut y, width);
            for ((x, p), y) in x.chunks(width).zip(p.chunks(width)).zip(y.chunks(width)) {
                for ((e, &p), &y) in exact(x).into_iter().zip(p).zip(y) {
                    let log = e.ln();
                    // The difference from the largest value is rounded, all the more the larger.
                    let bound = (2e-6 - 1e-7 * log) * e;
                    assert!(e == 0.0 && p == 0.0 || (f64::from(p) - e).abs() <= bound, "{p} {e}");
                    assert!(f64::from(y) == log || (f64::from(y) - log).abs() < 8e-6, "{y} {log}");
                }
            }
        }
    }

    #[test]
    fn backward_is_the_formula() {
        for (rows, width) in SIZES {
            let mut p = values(rows * width, 1);
            let mut y = p.clone();
            softmax(&mut p, width);
            log_softmax(&mut y, width);
            let dy = (0..p.len()).map(|i| (i * 31 % 97) as f32 / 40.0 - 1.0).collect::<Vec<_>>();
            let (mut dx, mut dz) = (dy.clone(), dy.clone());
            softmax_backward(&p, &mut dx, width);
            log_softmax_backward(&y, &mut dz, width);
            for row in 0..rows {
                let place = row * width..(row + 1) * width;
                let (p, dy) = (&p[place.clone()], &dy[place.clone()]);
                let mean =
                    p.iter().zip(dy).map(|(&p, &d)| f64::from(p) * f64::from(d)).sum::<f64>();
                let total = dy.iter().map(|&d| f64::from(d)).sum::<f64>();
                for i in 0..width {
                    let (p, dy) = (f64::from(p[i]), f64::from(dy[i]));
                    assert!((f64::from(dx[place.start + i]) - p * (dy - mean)).abs() < 1e-6);
                    let error = f64::from(dz[place.start + i]) - (dy - p * total);
                    assert!(error.abs() < 2e-6 * (1.0 + total.abs()), "{error}");
                }
            }
        }
    }

    #[test]
    fn rows_with_nothing_and_rows_with_nan() {
        for width in [3, 32, 40] {
            let mut x = vec![f32::NEG_INFINITY; 2 * width];
            x[width] = f32::NAN;
            let mut y = x.clone();
            softmax(&mut x, width);
            log_softmax(&mut y, width);
            assert!(x[..width].iter().all(|&p| p == 0.0));
            assert!(y[..width].iter().all(|&y| y == f32::NEG_INFINITY));
            assert!(x[width..].iter().any(|p| p.is_nan()));
        }
        softmax(&mut [], 0);
    }
}
