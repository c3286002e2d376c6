//! The gradients of convolutions as matrix products.
//!
//! With `Y = X W` as in [`super::direct`]: `dX = dY W^T`, whose rows are added back to the inputs
//! they were gathered from, and `dW = X^T dY`.

use super::direct::block_rows;
use super::gather::{gather, scatter_add};
use super::shape::ConvShape;
use crate::gemm::{Left, PANEL, Packed, Plain, Right, multiply, multiply_here};
use crate::parallel::{run_all, worth_threads};
use crate::scratch::with_scratch;

/// A weight as the right operand `W^T[filter, (ky, kx, channel)]`.
#[derive(Clone, Debug)]
pub struct TransposedWeight {
    matrix: Packed,
    /// Channels, filters and kernel.
    sizes: [usize; 3],
}

impl TransposedWeight {
    /// From `[filters, channels, kernel, kernel]`.
    pub fn new(weight: &[f32], shape: &ConvShape) -> Self {
        assert_eq!(weight.len(), shape.weight_len(), "the size of a convolution's weight");
        let ConvShape { channels, filters, kernel, .. } = *shape;
        let (taps, depth) = (kernel * kernel, shape.depth());
        let matrix = Packed::fill(filters, depth, |first, width, panel| {
            if width < PANEL {
                panel.fill(0.0);
            }
            for lane in 0..width {
                let (tap, channel) = ((first + lane) / channels, (first + lane) % channels);
                let from = weight[channel * taps + tap..].iter().step_by(depth);
                for (out, value) in panel[lane..].iter_mut().step_by(PANEL).zip(from) {
                    *out = *value;
                }
            }
        });
        Self { matrix, sizes: [channels, filters, kernel] }
    }
}

/// The gradient of the input from the gradient of the output, written to `out`.
pub fn input_gradient(
    output_gradient: &[f32],
    weight: &TransposedWeight,
    shape: &ConvShape,
    out: &mut [f32],
) {
    let (depth, filters, pixels) = (shape.depth(), shape.filters, shape.image_pixels());
    assert_eq!(weight.sizes, [shape.channels, filters, shape.kernel], "a weight of other sizes");
    assert_eq!(output_gradient.len(), shape.output_len(), "the size of the output's gradient");
    assert_eq!(out.len(), shape.input_len(), "the size of the input's gradient");
    if out.is_empty() {
        return;
    }
    let right = Right::packed(&weight.matrix);
    if shape.is_pointwise() {
        let left = Left::rows(output_gradient, shape.pixels(), filters);
        return multiply(left, right, out, false, &Plain);
    }
    let one = ConvShape { batch: 1, ..*shape };
    let time = shape.nanoseconds();
    // Fewer images than threads: these share out the product instead.
    let shared = worth_threads(time) && shape.batch < rayon::current_num_threads();
    let block = if shared { 8 * block_rows(depth) } else { block_rows(depth) };
    // An image is one piece: no two pieces add to the same input.
    let images = out.chunks_mut(shape.image_len()).enumerate();
    run_all(images, if shared { 0 } else { time }, |(image, out)| {
        out.fill(0.0);
        for first in (0..pixels).step_by(block) {
            let rows = block.min(pixels - first);
            let from = &output_gradient[(image * pixels + first) * filters..][..rows * filters];
            with_scratch([rows * depth], |[seen]| {
                let left = Left::rows(from, rows, filters);
                if shared {
                    multiply(left, right, seen, false, &Plain);
                } else {
                    multiply_here(left, right, seen, depth, false, &Plain);
                }
                scatter_add(seen, &one, first, depth, out);
            });
        }
    });
}

/// Pixels between two visits of the weight's gradient: what a tile of the product reads then
/// stays in the first-level cache.
const STEP: usize = 192;

/// Sizes of the weight up to which groups of pixels get sums of their own.
const SMALL_WEIGHT: usize = 1 << 16;

/// The gradient of the weight `[filters, channels, kernel, kernel]`, written to `out`.
///
/// The sum over the pixels goes in the same order for any number of threads.
pub fn weight_gradient(input: &[f32], output_gradient: &[f32], shape: &ConvShape, out: &mut [f32]) {
    let (depth, filters, pixels) = (shape.depth(), shape.filters, shape.pixels());
    assert_eq!(input.len(), shape.input_len(), "the size of a convolution's input");
    assert_eq!(output_gradient.len(), shape.output_len(), "the size of the output's gradient");
    assert_eq!(out.len(), shape.weight_len(), "the size of the weight's gradient");
    let size = depth * filters;
    if pixels == 0 || size == 0 {
        return out.fill(0.0);
    }
    if size <= SMALL_WEIGHT {
        // At most sixteen groups: more would not be worth the memory of their sums.
        let group = pixels.div_ceil(16).next_multiple_of(STEP);
        let groups = pixels.div_ceil(group);
        return with_scratch([groups * size], |[sums]| {
            let pieces = sums.chunks_mut(size).enumerate();
            run_all(pieces, shape.nanoseconds(), |(index, sum)| {
                let first = index * group;
                add_pixels(input, output_gradient, shape, first, group.min(pixels - first), sum);
            });
            let (total, rest) = sums.split_at_mut(size);
            for sum in rest.chunks_exact(size) {
                for (total, value) in total.iter_mut().zip(sum) {
                    *total += value;
                }
            }
            untangle(total, shape, out);
        });
    }
    let stride = spread_stride(depth);
    with_scratch([size, STEP * stride], |[sum, gathered]| {
        for first in (0..pixels).step_by(STEP) {
            let rows = STEP.min(pixels - first);
            let chunks = gathered[..rows * stride].chunks_mut(12 * stride).enumerate();
            run_all(chunks, rows * depth / 8, |(index, chunk)| {
                gather(input, shape, first + 12 * index, chunk.len() / stride, stride, chunk);
            });
            let from = &output_gradient[first * filters..][..rows * filters];
            let right = Packed::rows(from, rows, filters);
            let left = spread_rows(gathered, depth, rows, stride);
            multiply(left, Right::packed(&right), sum, first > 0, &Plain);
        }
        untangle(sum, shape, out);
    });
}

/// The sum over some pixels, on the calling thread, as `W[(ky, kx, channel), filter]`.
fn add_pixels(
    input: &[f32],
    output_gradient: &[f32],
    shape: &ConvShape,
    start: usize,
    count: usize,
    sum: &mut [f32],
) {
    let (depth, filters) = (shape.depth(), shape.filters);
    let stride = spread_stride(depth);
    let lengths = [STEP * stride, STEP * filters.next_multiple_of(PANEL)];
    with_scratch(lengths, |[gathered, panels]| {
        for first in (start..start + count).step_by(STEP) {
            let rows = STEP.min(start + count - first);
            gather(input, shape, first, rows, stride, gathered);
            pack(&output_gradient[first * filters..][..rows * filters], filters, rows, panels);
            let left = spread_rows(gathered, depth, rows, stride);
            let right = Right::panels(panels, rows, filters);
            multiply_here(left, right, sum, filters, first > start, &Plain);
        }
    });
}

/// Writes a row-major matrix in panels, as [`Packed`] does.
fn pack(values: &[f32], columns: usize, rows: usize, panels: &mut [f32]) {
    for (panel, out) in panels.chunks_mut(rows * PANEL).take(columns.div_ceil(PANEL)).enumerate() {
        let first = panel * PANEL;
        let width = PANEL.min(columns - first);
        for (row, out) in out.chunks_exact_mut(PANEL).enumerate() {
            out[..width].copy_from_slice(&values[row * columns + first..][..width]);
            out[width..].fill(0.0);
        }
    }
}

/// A distance of rows that are read down the columns: odd in cache lines, so that a column does
/// not fall into a few sets of the cache.
pub(super) fn spread_stride(length: usize) -> usize {
    (length.div_ceil(16) | 1) * 16
}

/// The transpose of gathered rows.
fn spread_rows(gathered: &[f32], depth: usize, rows: usize, stride: usize) -> Left<'_> {
    Left { values: gathered, rows: depth, inner: rows, row_stride: 1, column_stride: stride }
}

/// `[(ky, kx, channel), filter]` to `[filter, channel, ky, kx]`.
fn untangle(sum: &[f32], shape: &ConvShape, out: &mut [f32]) {
    let ConvShape { channels, filters, kernel, .. } = *shape;
    let taps = kernel * kernel;
    // Sixteen filters share the cache lines that are read.
    let size = PANEL * channels * taps;
    run_all(out.chunks_mut(size).enumerate(), sum.len(), |(index, out)| {
        let first = index * PANEL;
        let width = PANEL.min(filters - first);
        for channel in 0..channels {
            for tap in 0..taps {
                let from = &sum[(tap * channels + channel) * filters + first..][..width];
                for (filter, value) in from.iter().enumerate() {
                    out[(filter * channels + channel) * taps + tap] = *value;
                }
            }
        }
    });
}
