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
const FEW_CHANNELS: usize = 12;

impl Method {
    /// The fastest way for a shape.
    pub fn of(shape: &ConvShape) -> Self {
        let fewest = shape.channels.min(shape.filters);
        if !shape.is_same_3x3() || fewest < FEW_CHANNELS {
            return Self::Direct;
        }
        let tiles = shape.batch * shape.height.div_ceil(4) * shape.width.div_ceil(4);
        Self::Winograd(if tiles < 12 { Tile::Two } else { Tile::Four })
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
