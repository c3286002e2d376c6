//! Which way of computing a convolution is the fastest.

use super::direct::{self, DirectWeight};
use super::direct_gradients::{self, TransposedWeight};
use super::epilogue::Epilogue;
use super::filters::{Tile, WinogradFilters};
use super::shape::ConvShape;
use super::{winograd, winograd_gradient};

/// A way of computing a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    Direct,
    Winograd(Tile),
}

/// Channels (or filters) below which the transforms cost more than the products they save.
const FEW_CHANNELS: usize = 8;

/// Tiles of four below which the filters of F(4x4, 3x3), four times the size of the weight, are
/// not made use of often enough, unless they are small.
const FEW_TILES: usize = 8;

/// Weights per tap up to which the filters stay in the cache from call to call.
const SMALL_FILTERS: usize = 128 * 128;

impl Method {
    /// The fastest way for a shape, as measured.
    pub fn of(shape: &ConvShape) -> Self {
        let tiles = |size| shape.batch * shape.height.div_ceil(size) * shape.width.div_ceil(size);
        let fewest = shape.channels.min(shape.filters);
        // A product of fewer than four rows leaves the multipliers idle.
        if !shape.is_same_3x3() || fewest < FEW_CHANNELS || tiles(2) < 4 {
            return Self::Direct;
        }
        let small = tiles(4) >= 4 && shape.channels * shape.filters <= SMALL_FILTERS;
        let four = tiles(4) >= FEW_TILES || small;
        Self::Winograd(if four { Tile::Four } else { Tile::Two })
    }
}

/// A weight made ready for one way of computing the convolution; worth keeping.
#[derive(Clone, Debug)]
pub enum PreparedWeight {
    Direct(DirectWeight),
    Winograd(WinogradFilters),
}

impl PreparedWeight {
    /// From `[filters, channels, kernel, kernel]`.
    pub fn new(weight: &[f32], shape: &ConvShape, method: Method) -> Self {
        match method {
            Method::Direct => Self::Direct(DirectWeight::new(weight, shape)),
            Method::Winograd(tile) => {
                let (channels, filters) = (shape.channels, shape.filters);
                Self::Winograd(WinogradFilters::new(weight, channels, filters, tile))
            }
        }
    }

    /// `out = epilogue(input * weight)`.
    pub fn forward(
        &self,
        input: &[f32],
        shape: &ConvShape,
        epilogue: &Epilogue<'_>,
        out: &mut [f32],
    ) {
        match self {
            Self::Direct(weight) => direct::forward(input, weight, shape, epilogue, out),
            Self::Winograd(filters) => winograd::forward(input, filters, shape, epilogue, out),
        }
    }
}

/// A weight made ready for the gradient of the input.
#[derive(Clone, Debug)]
pub enum PreparedGradient {
    Direct(TransposedWeight),
    Winograd(WinogradFilters),
}

impl PreparedGradient {
    /// From `[filters, channels, kernel, kernel]`.
    pub fn new(weight: &[f32], shape: &ConvShape, method: Method) -> Self {
        match method {
            Method::Direct => Self::Direct(TransposedWeight::new(weight, shape)),
            Method::Winograd(tile) => {
                let (channels, filters) = (shape.channels, shape.filters);
                Self::Winograd(WinogradFilters::rotated(weight, channels, filters, tile))
            }
        }
    }

    /// The gradient of the input from the gradient of the output, written to `out`.
    pub fn input_gradient(&self, output_gradient: &[f32], shape: &ConvShape, out: &mut [f32]) {
        match self {
            Self::Direct(weight) => {
                direct_gradients::input_gradient(output_gradient, weight, shape, out)
            }
            Self::Winograd(filters) => {
                let (shape, plain) = (shape.swapped(), Epilogue::default());
                winograd::forward(output_gradient, filters, &shape, &plain, out)
            }
        }
    }
}

/// The gradient of the weight `[filters, channels, kernel, kernel]`, written to `out`.
pub fn weight_gradient(
    input: &[f32],
    output_gradient: &[f32],
    shape: &ConvShape,
    method: Method,
    out: &mut [f32],
) {
    match method {
        Method::Direct => direct_gradients::weight_gradient(input, output_gradient, shape, out),
        Method::Winograd(tile) => {
            winograd_gradient::weight_gradient(input, output_gradient, shape, tile, out)
        }
    }
}
