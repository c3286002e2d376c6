//! Tiles of images to the points of Winograd's transforms and back.
//!
//! Images are cut into tiles of `OUT x OUT` output pixels; the tiles side by side are a strip.

use std::marker::PhantomData;

use super::epilogue::Epilogue;
use super::transforms::{MOST, Transform};
use crate::gemm::PANEL;
use crate::gemm::lanes::Lanes;
use crate::parallel::Shared;
use crate::simd::simd;

/// An image in tiles.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    pub height: usize,
    pub width: usize,
    /// Values of a pixel.
    pub channels: usize,
    /// Tiles of a strip.
    pub across: usize,
    /// Strips of an image.
    pub strips: usize,
}

impl Grid {
    pub fn new<T: Transform>(height: usize, width: usize, channels: usize) -> Self {
        let (across, strips) = (width.div_ceil(T::OUT), height.div_ceil(T::OUT));
        Self { height, width, channels, across, strips }
    }

    pub fn image_len(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// Values of the rows of a strip, except that the last one of an image may have fewer.
    pub fn strip_len<T: Transform>(&self) -> usize {
        T::OUT * self.width * self.channels
    }
}

/// How far apart values at the points are.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// From a point to the next one.
    pub point: usize,
    /// From a tile to the next one.
    pub tile: usize,
    /// From sixteen channels to the next sixteen.
    pub channels: usize,
}

/// What is taken to the points: the inputs of a tile, or the gradients of its outputs.
///
/// # Safety
/// As for [`Transform`].
pub(super) trait Source {
    type Tile: Transform;
    /// Pixels along a side.
    const SIZE: usize;
    /// Pixels by which it starts before the tile's outputs.
    const BEFORE: usize;

    unsafe fn apply<L: Lanes>(values: [L; MOST]) -> [L; MOST];
}

/// `B^T d B`.
pub(super) struct Inputs<T>(PhantomData<T>);

impl<T: Transform> Source for Inputs<T> {
    type Tile = T;
    const SIZE: usize = T::IN;
    const BEFORE: usize = 1;

    #[inline(always)]
    unsafe fn apply<L: Lanes>(values: [L; MOST]) -> [L; MOST] {
        // SAFETY: the caller's promise.
        unsafe { T::input(values) }
    }
}

/// `A dY A^T`.
pub(super) struct OutputGradients<T>(PhantomData<T>);

impl<T: Transform> Source for OutputGradients<T> {
    type Tile = T;
    const SIZE: usize = T::OUT;
    const BEFORE: usize = 0;

    #[inline(always)]
    unsafe fn apply<L: Lanes>(values: [L; MOST]) -> [L; MOST] {
        // SAFETY: the caller's promise.
        unsafe { T::output_adjoint(values) }
    }
}

/// The first sixteen values, or as many as there are and zeros.
#[inline(always)]
unsafe fn load_some<L: Lanes>(values: &[f32]) -> L {
    let mut padded = [0.0; PANEL];
    let from = if values.len() >= PANEL {
        values.as_ptr()
    } else {
        padded[..values.len()].copy_from_slice(values);
        padded.as_ptr()
    };
    // SAFETY: sixteen values are there; the instructions are the caller's promise.
    unsafe { L::load(from) }
}

/// Column `j` of a tile from `(top, left)` on, before the edge is taken off, sixteen channels of
/// it, at the points; zeros where it lies outside of the image.
#[inline(always)]
unsafe fn spread_column<L: Lanes, S: Source>(
    image: &[f32],
    grid: &Grid,
    top: usize,
    left: usize,
    first: usize,
    j: usize,
) -> [L; MOST] {
    let Grid { height, width, channels, .. } = *grid;
    // SAFETY: the caller's promise.
    unsafe {
        let mut column = [L::zero(); MOST];
        let x = (left + j).wrapping_sub(S::BEFORE);
        if j >= S::SIZE || x >= width {
            return column;
        }
        for (i, value) in column[..S::SIZE].iter_mut().enumerate() {
            let y = (top + i).wrapping_sub(S::BEFORE);
            if y < height {
                let pixel = (y * width + x) * channels;
                let values = &image[pixel + first..pixel + channels];
                *value = load_some(values);
                if S::SIZE - j <= S::Tile::OUT {
                    // The next tile sees the pixel so many further on.
                    L::prefetch(values.as_ptr().wrapping_add(S::Tile::OUT * channels));
                }
            }
        }
        S::apply(column)
    }
}

simd! {
    /// Takes the tiles of a strip of `image` to the points, where they are written from `start`
    /// on.
    ///
    /// # Safety
    /// No one else touches the places of these tiles.
    pub(super) unsafe fn spread<L: Lanes, S: Source>(
        image: &[f32],
        grid: &Grid,
        strip: usize,
        out: &Shared<'_>,
        start: usize,
        layout: Layout,
    ) {
        let (points, top) = (S::Tile::IN, strip * S::Tile::OUT);
        for tile in 0..grid.across {
            let left = tile * S::Tile::OUT;
            for first in (0..grid.channels).step_by(PANEL) {
                // SAFETY: the caller's promise.
                unsafe {
                    // Written out: a loop would fill the array with zeros first.
                    let columns: [[L; MOST]; MOST] = [
                        spread_column::<L, S>(image, grid, top, left, first, 0),
                        spread_column::<L, S>(image, grid, top, left, first, 1),
                        spread_column::<L, S>(image, grid, top, left, first, 2),
                        spread_column::<L, S>(image, grid, top, left, first, 3),
                        spread_column::<L, S>(image, grid, top, left, first, 4),
                        spread_column::<L, S>(image, grid, top, left, first, 5),
                    ];
                    let start = start + tile * layout.tile + first / PANEL * layout.channels;
                    for i in 0..points {
                        let row = S::apply(row_of(&columns, i));
                        for (j, value) in row[..points].iter().enumerate() {
                            let place = start + (i * points + j) * layout.point;
                            value.store(out.part(place, PANEL).as_mut_ptr());
                        }
                    }
                }
            }
        }
    }
}

/// Row `i` of an array of columns.
#[inline(always)]
fn row_of<L: Copy>(columns: &[[L; MOST]; MOST], i: usize) -> [L; MOST] {
    let [a, b, c, d, e, f] = columns;
    [a[i], b[i], c[i], d[i], e[i], f[i]]
}

/// The output that tiles are collected to.
pub(super) struct Finished<'a> {
    pub epilogue: &'a Epilogue<'a>,
    /// Where the strip starts in the whole output.
    pub start: usize,
}

/// Column `j` of the products of a tile, which start at `start`, at the outputs.
#[inline(always)]
unsafe fn collect_column<L: Lanes, T: Transform>(
    products: &[f32],
    start: usize,
    layout: Layout,
    j: usize,
) -> [L; MOST] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut column = [L::zero(); MOST];
        if j >= T::IN {
            return column;
        }
        for (i, value) in column[..T::IN].iter_mut().enumerate() {
            let place = start + (i * T::IN + j) * layout.point;
            *value = L::load(products[place..place + PANEL].as_ptr());
        }
        T::output(column)
    }
}

simd! {
    /// Takes the products of a strip, `A^T m A`, to the output, the rows of the strip.
    ///
    /// # Safety
    /// None beyond the instructions, which are looked after here.
    pub(super) unsafe fn collect<L: Lanes, T: Transform>(
        products: &[f32],
        layout: Layout,
        grid: &Grid,
        finished: &Finished<'_>,
        out: &mut [f32],
    ) {
        let Grid { width, channels, across, .. } = *grid;
        let rows = T::OUT.min(out.len() / (width * channels));
        for first in (0..channels).step_by(PANEL) {
            let count = PANEL.min(channels - first);
            for tile in 0..across {
                // SAFETY: the caller's promise.
                unsafe {
                    let start = tile * layout.tile + first / PANEL * layout.channels;
                    let columns: [[L; MOST]; MOST] = [
                        collect_column::<L, T>(products, start, layout, 0),
                        collect_column::<L, T>(products, start, layout, 1),
                        collect_column::<L, T>(products, start, layout, 2),
                        collect_column::<L, T>(products, start, layout, 3),
                        collect_column::<L, T>(products, start, layout, 4),
                        collect_column::<L, T>(products, start, layout, 5),
                    ];
                    for y in 0..rows {
                        let row = T::output(row_of(&columns, y));
                        for (j, value) in row[..T::OUT].iter().enumerate() {
                            let x = tile * T::OUT + j;
                            if x >= width {
                                break;
                            }
                            let pixel = (y * width + x) * channels;
                            let out = &mut out[pixel + first..pixel + first + count];
                            if count == PANEL {
                                value.store(out.as_mut_ptr());
                            } else {
                                let mut values = [0.0; PANEL];
                                value.store(values.as_mut_ptr());
                                out.copy_from_slice(&values[..count]);
                            }
                            finished.epilogue.apply(finished.start + pixel, first, out);
                        }
                    }
                }
            }
        }
    }
}
