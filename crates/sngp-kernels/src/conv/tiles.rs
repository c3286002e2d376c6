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
        let Grid { height, width, channels, across, .. } = *grid;
        let (points, step) = (S::Tile::IN, S::Tile::OUT);
        for tile in 0..across {
            for first in (0..channels).step_by(PANEL) {
                // SAFETY: the caller's promise.
                unsafe {
                    let mut half = [[L::zero(); MOST]; MOST];
                    for j in 0..S::SIZE {
                        let mut column = [L::zero(); MOST];
                        let x = (tile * step + j).wrapping_sub(S::BEFORE);
                        if x >= width {
                            continue;
                        }
                        for (i, value) in column[..S::SIZE].iter_mut().enumerate() {
                            let y = (strip * step + i).wrapping_sub(S::BEFORE);
                            if y < height {
                                let pixel = (y * width + x) * channels;
                                *value = load_some(&image[pixel + first..pixel + channels]);
                            }
                        }
                        let column = S::apply(column);
                        for i in 0..points {
                            half[i][j] = column[i];
                        }
                    }
                    let start = start + tile * layout.tile + first / PANEL * layout.channels;
                    for (i, row) in half[..points].iter().enumerate() {
                        let row = S::apply(*row);
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

/// The output that tiles are collected to.
pub(super) struct Finished<'a> {
    pub epilogue: &'a Epilogue<'a>,
    /// Where the strip starts in the whole output.
    pub start: usize,
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
        let rows = out.len() / (width * channels);
        for first in (0..channels).step_by(PANEL) {
            let count = PANEL.min(channels - first);
            for tile in 0..across {
                // SAFETY: the caller's promise.
                unsafe {
                    let start = tile * layout.tile + first / PANEL * layout.channels;
                    let mut half = [[L::zero(); MOST]; MOST];
                    for j in 0..T::IN {
                        let mut column = [L::zero(); MOST];
                        for (i, value) in column[..T::IN].iter_mut().enumerate() {
                            let place = start + (i * T::IN + j) * layout.point;
                            *value = L::load(products[place..place + PANEL].as_ptr());
                        }
                        let column = T::output(column);
                        for i in 0..T::OUT {
                            half[i][j] = column[i];
                        }
                    }
                    for (y, row) in half[..T::OUT.min(rows)].iter().enumerate() {
                        let row = T::output(*row);
                        for (j, value) in row[..T::OUT].iter().enumerate() {
                            let x = tile * T::OUT + j;
                            if x >= width {
                                break;
                            }
                            let pixel = (y * width + x) * channels;
                            let mut values = [0.0; PANEL];
                            value.store(values.as_mut_ptr());
                            let place = finished.start + pixel;
                            finished.epilogue.apply(place, first, &mut values[..count]);
                            out[pixel + first..][..count].copy_from_slice(&values[..count]);
                        }
                    }
                }
            }
        }
    }
}
