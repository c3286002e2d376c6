//! The inputs that output pixels see, as rows of a matrix, and back.

use super::shape::ConvShape;

/// Where output pixels stand, in order.
struct Pixels {
    image: usize,
    y: usize,
    x: usize,
    height: usize,
    width: usize,
}

impl Pixels {
    fn from(shape: &ConvShape, first: usize) -> Self {
        let (height, width) = (shape.output_height(), shape.output_width());
        let (image, rest) = (first / (height * width), first % (height * width));
        Self { image, y: rest / width, x: rest % width, height, width }
    }

    fn advance(&mut self) {
        self.x += 1;
        if self.x == self.width {
            (self.x, self.y) = (0, self.y + 1);
        }
        if self.y == self.height {
            (self.y, self.image) = (0, self.image + 1);
        }
    }
}

/// The part of a kernel row that lies within the image.
struct KernelRow {
    /// The first tap inside and the one after the last.
    taps: std::ops::Range<usize>,
    /// Where the first tap inside is in the input.
    start: usize,
}

/// Which taps of kernel row `ky` lie within the image for the output pixel at `pixels`.
///
/// They are neighbours in memory, so that a kernel row is one copy.
#[inline(always)]
fn kernel_row(shape: &ConvShape, pixels: &Pixels, ky: usize) -> KernelRow {
    let ConvShape { height, width, channels, kernel, stride, padding, .. } = *shape;
    let (top, left) = (pixels.y * stride + ky, pixels.x * stride);
    if top < padding || top - padding >= height {
        return KernelRow { taps: 0..0, start: 0 };
    }
    let first = padding.saturating_sub(left);
    let end = (width + padding).saturating_sub(left).min(kernel);
    if first >= end {
        return KernelRow { taps: 0..0, start: 0 };
    }
    let row = (pixels.image * height + top - padding) * width;
    KernelRow { taps: first..end, start: (row + left + first - padding) * channels }
}

/// Writes the inputs that output pixels from `first` on see, in the order (ky, kx, channel), as
/// rows that are `stride` apart; zeros where the kernel reaches over the edge.
pub(super) fn gather(
    input: &[f32],
    shape: &ConvShape,
    first: usize,
    rows: usize,
    stride: usize,
    out: &mut [f32],
) {
    let (depth, length) = (shape.depth(), shape.kernel * shape.channels);
    if rows == 0 || depth == 0 {
        return;
    }
    let mut pixels = Pixels::from(shape, first);
    for out in out.chunks_mut(stride).take(rows) {
        for (ky, out) in out[..depth].chunks_exact_mut(length).enumerate() {
            let KernelRow { taps, start } = kernel_row(shape, &pixels, ky);
            let (from, to) = (taps.start * shape.channels, taps.end * shape.channels);
            out[..from].fill(0.0);
            out[from..to].copy_from_slice(&input[start..start + to - from]);
            out[to..].fill(0.0);
        }
        pixels.advance();
    }
}

/// The adjoint of [`gather`]: adds rows to the inputs they were gathered from, one pixel after
/// the other.
pub(super) fn scatter_add(
    rows: &[f32],
    shape: &ConvShape,
    first: usize,
    stride: usize,
    input: &mut [f32],
) {
    let (depth, length) = (shape.depth(), shape.kernel * shape.channels);
    if rows.is_empty() || depth == 0 {
        return;
    }
    let mut pixels = Pixels::from(shape, first);
    for row in rows.chunks(stride) {
        for (ky, row) in row[..depth].chunks_exact(length).enumerate() {
            let KernelRow { taps, start } = kernel_row(shape, &pixels, ky);
            let (from, to) = (taps.start * shape.channels, taps.end * shape.channels);
            for (sum, value) in input[start..start + to - from].iter_mut().zip(&row[from..to]) {
                *sum += value;
            }
        }
        pixels.advance();
    }
}
