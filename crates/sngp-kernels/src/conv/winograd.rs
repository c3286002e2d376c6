//! Winograd's method for 3x3 convolutions with stride 1 and padding 1.
//!
//! With the transforms of [`super::transforms`] applied along both sides of a tile, the outputs
//! of a tile are `Y = A^T [ sum_c (G g_c G^T) * (B^T d_c B) ] A`. The products are taken point by
//! point, and the sum over the channels makes them a matrix product per point:
//! `M_i[tile, filter] = V_i[tile, channel] U_i[channel, filter]`.
//!
//! The gradient of the input is the same with the filters turned around
//! ([`WinogradFilters::rotated`] and [`ConvShape::swapped`]).

use super::epilogue::Epilogue;
use super::filters::{Tile, WinogradFilters};
use super::shape::ConvShape;
use super::tiles::{Finished, Grid, Inputs, Layout, collect, spread};
use super::transforms::{Four, Transform, Two};
use crate::gemm::{Left, PANEL, Plain, Right, multiply_here};
use crate::parallel::{Shared, run, run_all, worth_threads};
use crate::scratch::with_scratch;

/// Values of filters above which all threads work on the same tiles, so that the filters, which
/// do not fit the cache, are read once and not by every thread.
const LARGE_FILTERS: usize = 4 << 20;

/// Tiles that threads together work on at a time.
const SHARED_TILES: usize = 192;

/// Tiles that a thread works on at a time: enough to make use of a panel of filters, and few
/// enough to stay in the cache.
const OWN_TILES: usize = 48;

/// `out = epilogue(input * filters)`, as large as the input but for the channels.
pub fn forward(
    input: &[f32],
    filters: &WinogradFilters,
    shape: &ConvShape,
    epilogue: &Epilogue<'_>,
    out: &mut [f32],
) {
    assert!(shape.is_same_3x3(), "Winograd's method is for 3x3, stride 1, padding 1");
    let sizes = (filters.channels, filters.filters);
    assert_eq!(sizes, (shape.channels, shape.filters), "filters of other sizes");
    assert_eq!(input.len(), shape.input_len(), "the size of a convolution's input");
    assert_eq!(out.len(), shape.output_len(), "the size of a convolution's output");
    epilogue.check(shape.pixels(), shape.filters);
    if out.is_empty() {
        return;
    }
    match filters.tile {
        Tile::Two => Convolution::<Two>::new(input, filters, shape, epilogue).run(out),
        Tile::Four => Convolution::<Four>::new(input, filters, shape, epilogue).run(out),
    }
}

struct Convolution<'a, T> {
    input: &'a [f32],
    filters: &'a WinogradFilters,
    epilogue: &'a Epilogue<'a>,
    /// The time on one core, roughly.
    nanoseconds: usize,
    inputs: Grid,
    outputs: Grid,
    tile: std::marker::PhantomData<T>,
}

impl<'a, T: Transform> Convolution<'a, T> {
    fn new(
        input: &'a [f32],
        filters: &'a WinogradFilters,
        shape: &ConvShape,
        epilogue: &'a Epilogue<'a>,
    ) -> Self {
        Self {
            input,
            filters,
            epilogue,
            nanoseconds: shape.nanoseconds() / T::OUT,
            inputs: Grid::new::<T>(shape.height, shape.width, shape.channels),
            outputs: Grid::new::<T>(shape.height, shape.width, shape.filters),
            tile: std::marker::PhantomData,
        }
    }

    fn run(&self, out: &mut [f32]) {
        let images = out.chunks_mut(self.outputs.image_len());
        let strip_len = self.outputs.strip_len::<T>();
        let mut strips: Vec<_> = images.flat_map(|image| image.chunks_mut(strip_len)).collect();
        let across = self.inputs.across;
        let parallel = worth_threads(self.nanoseconds);
        let large = self.filters.tile.points() * self.filters.channels * self.filters.filters
            > LARGE_FILTERS;
        let own = OWN_TILES.div_ceil(across);
        let few = strips.len().div_ceil(own) < 2 * rayon::current_num_threads();
        if large || (parallel && few) {
            let together = SHARED_TILES.div_ceil(across);
            for (index, strips) in strips.chunks_mut(together).enumerate() {
                self.block(index * together, strips, self.nanoseconds);
            }
        } else {
            let blocks = strips.chunks_mut(own).enumerate();
            run_all(blocks, self.nanoseconds, |(index, strips)| self.block(index * own, strips, 0));
        }
    }

    /// Computes some strips, the outputs of which are given, on all threads if it is worth it.
    fn block(&self, first_strip: usize, strips: &mut [&mut [f32]], time: usize) {
        let points = T::IN * T::IN;
        let (channels, filters) = (self.filters.channels, self.filters.filters);
        let panels = filters.div_ceil(PANEL);
        let across = self.inputs.across;
        let tiles = strips.len() * across;
        // A cache line between the points keeps them from falling into the same sets.
        let row = channels.next_multiple_of(PANEL);
        let spread_layout = Layout { point: tiles * row + PANEL, tile: row, channels: PANEL };
        let unit = (tiles + 1) * PANEL;
        let product_layout = Layout { point: panels * unit, tile: PANEL, channels: unit };
        let lengths = [points * spread_layout.point, points * product_layout.point];
        with_scratch(lengths, |[values, products]| {
            let shared = Shared::new(values);
            run(strips.len(), time, |strip| {
                let (image, row) = self.place(first_strip + strip);
                let image = &self.input[image * self.inputs.image_len()..];
                let start = strip * across * spread_layout.tile;
                // SAFETY: every strip has tiles of its own.
                unsafe {
                    spread::<Inputs<T>>(image, &self.inputs, row, &shared, start, spread_layout)
                }
            });
            // Point by point, so that its tiles stay in the cache while the filters pass by.
            run_all(products.chunks_mut(unit).enumerate(), time, |(index, out)| {
                let (point, panel) = (index / panels, index % panels);
                let left = Left {
                    values: &values[point * spread_layout.point..],
                    rows: tiles,
                    inner: channels,
                    row_stride: row,
                    column_stride: 1,
                };
                let right = Right::panels(self.filters.panel(panel, point), channels, PANEL);
                let (next_point, next_panel) = ((index + 1) / panels, (index + 1) % panels);
                let next = self.filters.panel(next_panel, next_point.min(points - 1));
                let right = right.followed_by(next);
                multiply_here(left, right, out, PANEL, false, &Plain);
            });
            run_all(strips.iter_mut().enumerate(), time, |(strip, out)| {
                let (image, row) = self.place(first_strip + strip);
                let grid = &self.outputs;
                let start = image * grid.image_len() + row * grid.strip_len::<T>();
                let finished = Finished { epilogue: self.epilogue, start };
                let from = &products[strip * across * product_layout.tile..];
                // SAFETY: it asks for nothing.
                unsafe { collect::<T>(from, product_layout, grid, &finished, out) }
            });
        });
    }

    /// The image that a strip belongs to, and the strip's number in it.
    fn place(&self, strip: usize) -> (usize, usize) {
        (strip / self.inputs.strips, strip % self.inputs.strips)
    }
}
