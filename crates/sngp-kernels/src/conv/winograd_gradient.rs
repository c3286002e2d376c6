//! The gradient of the weight by Winograd's method.
//!
//! The adjoint of the convolution in its filters:
//! `dg = G^T [ sum_tiles (B^T d B) * (A dY A^T) ] G`, the sum being a product
//! `V_i^T[channel, tile] W_i[tile, filter]` per point.

use super::direct_gradients::spread_stride;
use super::filters::{Tile, transform_back};
use super::shape::ConvShape;
use super::tiles::{Grid, Inputs, Layout, OutputGradients, spread};
use super::transforms::{Four, Transform, Two};
use crate::gemm::{Left, PANEL, Plain, Right, multiply_here};
use crate::parallel::{Shared, run, run_all};
use crate::scratch::with_scratch;

/// Tiles that are worked on at a time: few enough for a product's operands to stay in the
/// first-level cache, and enough to make a visit of the sums worth it.
const STEP: usize = 128;

/// The gradient of a weight `[filters, channels, 3, 3]`, written to `out`.
///
/// The sum over the tiles goes in the same order for any number of threads.
pub fn weight_gradient(
    input: &[f32],
    output_gradient: &[f32],
    shape: &ConvShape,
    tile: Tile,
    out: &mut [f32],
) {
    assert!(shape.is_same_3x3(), "Winograd's method is for 3x3, stride 1, padding 1");
    assert_eq!(input.len(), shape.input_len(), "the size of a convolution's input");
    assert_eq!(output_gradient.len(), shape.output_len(), "the size of the output's gradient");
    assert_eq!(out.len(), shape.weight_len(), "the size of the weight's gradient");
    if input.is_empty() || output_gradient.is_empty() {
        return out.fill(0.0);
    }
    match tile {
        Tile::Two => sum_over_tiles::<Two>(input, output_gradient, shape, out),
        Tile::Four => sum_over_tiles::<Four>(input, output_gradient, shape, out),
    }
}

fn sum_over_tiles<T: Transform>(
    input: &[f32],
    output_gradient: &[f32],
    shape: &ConvShape,
    out: &mut [f32],
) {
    let points = T::IN * T::IN;
    let ConvShape { batch, channels, filters, .. } = *shape;
    let panels = filters.div_ceil(PANEL);
    let inputs = Grid::new::<T>(shape.height, shape.width, channels);
    let outputs = Grid::new::<T>(shape.height, shape.width, filters);
    let strips = batch * inputs.strips;
    let time = shape.nanoseconds() / T::OUT;

    let row = spread_stride(channels);
    let together = STEP.div_ceil(inputs.across).min(strips);
    let tiles = together * inputs.across;
    let value_layout = Layout { point: tiles * row + PANEL, tile: row, channels: PANEL };
    let unit = (tiles + 1) * PANEL;
    let gradient_layout = Layout { point: panels * unit, tile: PANEL, channels: unit };
    let sum_len = channels * PANEL;
    let lengths =
        [points * value_layout.point, points * gradient_layout.point, points * panels * sum_len];
    with_scratch(lengths, |[values, gradients, sums]| {
        for first in (0..strips).step_by(together) {
            let count = together.min(strips - first);
            let shared = [Shared::new(values), Shared::new(gradients)];
            run(count, time, |index| {
                let strip = first + index;
                let (image, strip) = (strip / inputs.strips, strip % inputs.strips);
                let tile = index * inputs.across;
                let pixels = &input[image * inputs.image_len()..];
                let start = tile * value_layout.tile;
                // SAFETY: every strip has tiles of its own.
                unsafe {
                    spread::<Inputs<T>>(pixels, &inputs, strip, &shared[0], start, value_layout)
                }
                let pixels = &output_gradient[image * outputs.image_len()..];
                let start = tile * gradient_layout.tile;
                let layout = gradient_layout;
                // SAFETY: as above.
                unsafe {
                    spread::<OutputGradients<T>>(pixels, &outputs, strip, &shared[1], start, layout)
                }
            });
            let tiles = count * inputs.across;
            run_all(sums.chunks_mut(sum_len).enumerate(), time, |(index, sum)| {
                let point = index / panels;
                let left = Left {
                    values: &values[point * value_layout.point..],
                    rows: channels,
                    inner: tiles,
                    row_stride: 1,
                    column_stride: row,
                };
                let right = Right::panels(&gradients[index * unit..], tiles, PANEL);
                multiply_here(left, right, sum, PANEL, first > 0, &Plain);
            });
        }
        run_all(out.chunks_mut(PANEL * channels * 9).enumerate(), time, |(panel, out)| {
            let from = &sums[panel * sum_len..];
            // SAFETY: it asks for nothing.
            unsafe { transform_back::<T>(from, panels * sum_len, channels, out) }
        });
    });
}
