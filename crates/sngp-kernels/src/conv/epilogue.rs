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
        if let Ok(panel) = <&mut [f32; PANEL]>::try_from(&mut *values) {
            *panel = self.panel(pixel, first, *panel);
        } else {
            self.some(pixel, first, values);
        }
    }

    /// A whole panel, in registers: arrays by value cannot overlap, which the compiler has to
    /// know to make vector code of it.
    #[inline(always)]
    fn panel(&self, pixel: usize, first: usize, values: [f32; PANEL]) -> [f32; PANEL] {
        let mut values = values;
        if let Some(scale) = self.scale {
            let scale = panel_of(scale, first);
            values = std::array::from_fn(|i| values[i] * scale[i]);
        }
        if let Some(shift) = self.shift {
            let shift = panel_of(shift, first);
            values = std::array::from_fn(|i| values[i] + shift[i]);
        }
        if let Some(residual) = self.residual {
            let residual = panel_of(residual, pixel + first);
            values = std::array::from_fn(|i| values[i] + residual[i]);
        }
        if self.relu {
            values = values.map(rectified);
        }
        values
    }

    #[inline(always)]
    fn some(&self, pixel: usize, first: usize, values: &mut [f32]) {
        for (i, value) in values.iter_mut().enumerate() {
            if let Some(scale) = self.scale {
                *value *= scale[first + i];
            }
            if let Some(shift) = self.shift {
                *value += shift[first + i];
            }
            if let Some(residual) = self.residual {
                *value += residual[pixel + first + i];
            }
            if self.relu {
                *value = rectified(*value);
            }
        }
    }
}

/// Sixteen values from `first` on.
#[inline(always)]
fn panel_of(values: &[f32], first: usize) -> [f32; PANEL] {
    *values[first..].first_chunk().expect("checked when the convolution began")
}

/// Unlike `max`, this lets NaN pass.
#[inline(always)]
fn rectified(value: f32) -> f32 {
    if value < 0.0 { 0.0 } else { value }
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
