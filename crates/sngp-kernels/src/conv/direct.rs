//! Convolutions as matrix products, for any kernel, stride and padding.
//!
//! With the inputs that output pixel `p` sees as row `p` of a matrix `X` (in the order ky, kx,
//! channel) and the weight as `W[(ky, kx, channel), filter]`, the convolution is `Y = X W`. `X`
//! is never there as a whole: blocks of its rows are gathered into memory that stays in the
//! cache.

use super::epilogue::{Epilogue, PixelRows};
use super::gather::gather;
use super::shape::ConvShape;
use crate::gemm::{Left, PANEL, Packed, Right, multiply, multiply_here};
use crate::parallel::{run_all, worth_threads};
use crate::scratch::with_scratch;

/// Values of a block of gathered rows: half of the second-level cache.
const BLOCK_VALUES: usize = 1 << 16;

/// A weight as the right operand `W[(ky, kx, channel), filter]`.
#[derive(Clone, Debug)]
pub struct DirectWeight {
    matrix: Packed,
    /// Channels, filters and kernel.
    sizes: [usize; 3],
}

impl DirectWeight {
    /// From `[filters, channels, kernel, kernel]`.
    pub fn new(weight: &[f32], shape: &ConvShape) -> Self {
        assert_eq!(weight.len(), shape.weight_len(), "the size of a convolution's weight");
        let ConvShape { channels, filters, kernel, .. } = *shape;
        let taps = kernel * kernel;
        let matrix = Packed::fill(shape.depth(), filters, |first, width, panel| {
            if width < PANEL {
                panel.fill(0.0);
            }
            for filter in 0..width {
                let from = &weight[(first + filter) * channels * taps..][..channels * taps];
                for (channel, from) in from.chunks_exact(taps).enumerate() {
                    for (tap, value) in from.iter().enumerate() {
                        panel[(tap * channels + channel) * PANEL + filter] = *value;
                    }
                }
            }
        });
        Self { matrix, sizes: [channels, filters, kernel] }
    }
}

/// Rows of a block of gathered inputs, whole tiles of the product.
pub(super) fn block_rows(depth: usize) -> usize {
    (BLOCK_VALUES / depth.max(1)).clamp(12, 96) / 12 * 12
}

/// `out = epilogue(input * weight)`, `[batch, output height, output width, filters]`.
pub fn forward(
    input: &[f32],
    weight: &DirectWeight,
    shape: &ConvShape,
    epilogue: &Epilogue<'_>,
    out: &mut [f32],
) {
    let (pixels, filters, depth) = (shape.pixels(), shape.filters, shape.depth());
    assert_eq!(weight.sizes, [shape.channels, filters, shape.kernel], "a weight of other sizes");
    assert_eq!(input.len(), shape.input_len(), "the size of a convolution's input");
    assert_eq!(out.len(), shape.output_len(), "the size of a convolution's output");
    epilogue.check(pixels, filters);
    if out.is_empty() {
        return;
    }
    let whole = PixelRows { epilogue, first_pixel: 0, filters };
    let right = Right::packed(&weight.matrix);
    if shape.is_pointwise() {
        return multiply(Left::rows(input, pixels, depth), right, out, false, &whole);
    }
    let rows = block_rows(depth);
    let time = shape.nanoseconds();
    if worth_threads(time) && pixels.div_ceil(rows) < 4 * rayon::current_num_threads() {
        // Too few blocks to go round: all rows first, then a product that shares out columns
        // too, so that each part of a large weight is read once.
        return with_scratch([pixels * depth], |[gathered]| {
            let chunks = gathered.chunks_mut(12 * depth).enumerate();
            run_all(chunks, pixels * depth / 8, |(index, chunk)| {
                gather(input, shape, 12 * index, chunk.len() / depth, depth, chunk);
            });
            multiply(Left::rows(gathered, pixels, depth), right, out, false, &whole);
        });
    }
    run_all(out.chunks_mut(rows * filters).enumerate(), time, |(index, out)| {
        let (first_pixel, rows) = (index * rows, out.len() / filters);
        with_scratch([rows * depth], |[gathered]| {
            gather(input, shape, first_pixel, rows, depth, gathered);
            let left = Left::rows(gathered, rows, depth);
            let finish = PixelRows { epilogue, first_pixel, filters };
            multiply_here(left, right, out, filters, false, &finish);
        });
    });
}
