//! What follows a convolution while its output is still in the cache.

use crate::gemm::{Finish, PANEL};

/// `y = relu?(scale * conv + shift + residual)`: a folded batch normalisation or a bias, the
/// shortcut of a residual block, and the activation. What is `None` is left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Epilogue<'a> {
    /// One factor per filter.
    pub scale: Option<&'a [f32]>,
    /// One summand per filter.
    pub shift: Option<&'a [f32]>,
    /// As large as the output.
    pub residual: Option<&'a [f32]>,
    pub relu: bool,
}

impl Epilogue<'_> {
    /// Panics unless the parts have the sizes of an output of so many pixels.
    pub(super) fn check(&self, pixels: usize, filters: usize) {
        assert!(self.scale.is_none_or(|scale| scale.len() == filters), "one scale per filter");
        assert!(self.shift.is_none_or(|shift| shift.len() == filters), "one shift per filter");
        let size = pixels * filters;
        assert!(self.residual.is_none_or(|residual| residual.len() == size), "residual's size");
    }

    /// Finishes the values of a pixel from filter `first` on; `pixel` is where the pixel's values
    /// start in the whole output.
    #[inline(always)]
    pub(super) fn apply(&self, pixel: usize, first: usize, values: &mut [f32]) {
        // A whole panel has a length the compiler knows, and so becomes straight vector code.
        match <&mut [f32; PANEL]>::try_from(&mut *values) {
            Ok(panel) => self.apply_to(pixel, first, panel),
            Err(_) => self.apply_to(pixel, first, values),
        }
    }

    #[inline(always)]
    fn apply_to(&self, pixel: usize, first: usize, values: &mut [f32]) {
        let size = values.len();
        if let Some(scale) = self.scale {
            for (value, scale) in values.iter_mut().zip(&scale[first..first + size]) {
                *value *= scale;
            }
        }
        if let Some(shift) = self.shift {
            for (value, shift) in values.iter_mut().zip(&shift[first..first + size]) {
                *value += shift;
            }
        }
        if let Some(residual) = self.residual {
            for (value, residual) in values.iter_mut().zip(&residual[pixel + first..][..size]) {
                *value += residual;
            }
        }
        if self.relu {
            for value in values {
                // Unlike `max`, this lets NaN pass.
                *value = if *value < 0.0 { 0.0 } else { *value };
            }
        }
    }
}

/// The epilogue of a product whose rows are pixels, from `first_pixel` on.
pub(super) struct PixelRows<'a> {
    pub epilogue: &'a Epilogue<'a>,
    pub first_pixel: usize,
    pub filters: usize,
}

impl Finish for PixelRows<'_> {
    #[inline(always)]
    fn finish(&self, row: usize, column: usize, values: &mut [f32]) {
        self.epilogue.apply((self.first_pixel + row) * self.filters, column, values);
    }
}
