//! The mean over the pixels of each image.

use crate::parallel::run_all;
use crate::simd::simd;

simd! {
    /// The mean over the pixels of one image, summed in runs of sixteen.
    fn image_mean(image: &[f32], out: &mut [f32]) {
        let n = out.len();
        out.fill(0.0);
        // Channels in pieces whose sums stay in registers.
        for first in (0..n).step_by(32) {
            let width = (n - first).min(32);
            let mut total = [0.0f32; 32];
            for run in image.chunks(16 * n) {
                let mut sums = [0.0f32; 32];
                for pixel in run.chunks_exact(n) {
                    let pixel = &pixel[first..first + width];
                    if let Ok(pixel) = <&[f32; 32]>::try_from(pixel) {
                        for i in 0..32 {
                            sums[i] += pixel[i];
                        }
                    } else {
                        for (sum, value) in sums.iter_mut().zip(pixel) {
                            *sum += value;
                        }
                    }
                }
                for i in 0..32 {
                    total[i] += sums[i];
                }
            }
            let share = 1.0 / (image.len() / n).max(1) as f32;
            for (out, total) in out[first..first + width].iter_mut().zip(total) {
                *out = total * share;
            }
        }
    }
}

/// `out[b, c] = mean over p of input[b, p, c]`, from `[batch, pixels, channels]`.
///
/// The mean of no pixels is zero.
pub fn mean_over_pixels(input: &[f32], pixels: usize, channels: usize, out: &mut [f32]) {
    if channels == 0 || out.is_empty() {
        return;
    }
    if pixels == 0 {
        return out.fill(0.0);
    }
    assert_eq!(input.len() / pixels, out.len(), "the size of the means");
    assert!(input.len().is_multiple_of(pixels * channels), "whole images");
    let images = out.chunks_mut(channels).zip(input.chunks(pixels * channels));
    run_all(images, input.len() / 8, |(out, image)| image_mean(image, out));
}

/// The gradient of the input: `out[b, p, c] = gradient[b, c] / pixels`.
pub fn mean_over_pixels_backward(
    gradient: &[f32],
    pixels: usize,
    channels: usize,
    out: &mut [f32],
) {
    if channels == 0 || pixels == 0 {
        return;
    }
    assert_eq!(out.len() / pixels, gradient.len(), "the size of the input's gradient");
    let share = 1.0 / pixels as f32;
    let size = out.len();
    let images = out.chunks_mut(pixels * channels).zip(gradient.chunks(channels));
    run_all(images, size / 8, |(out, gradient)| {
        let (first, rest) = out.split_at_mut(channels);
        for (out, gradient) in first.iter_mut().zip(gradient) {
            *out = gradient * share;
        }
        for pixel in rest.chunks_exact_mut(channels) {
            pixel.copy_from_slice(first);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_gradients() {
        for (batch, pixels, channels) in
            [(0, 4, 3), (1, 1, 1), (2, 64, 640), (3, 49, 37), (1, 35, 5), (40, 64, 128)]
        {
            let x: Vec<f32> =
                (0..batch * pixels * channels).map(|i| (i * 37 % 101) as f32 - 40.0).collect();
            let mut y = vec![f32::NAN; batch * channels];
            mean_over_pixels(&x, pixels, channels, &mut y);
            for (i, y) in y.iter().enumerate() {
                let image = &x[i / channels * pixels * channels..][..pixels * channels];
                let column = image[i % channels..].iter().step_by(channels);
                let mean = column.map(|x| f64::from(*x)).sum::<f64>() / pixels as f64;
                assert!((f64::from(*y) - mean).abs() < 1e-4);
            }
            let mut dx = vec![f32::NAN; x.len()];
            mean_over_pixels_backward(&y, pixels, channels, &mut dx);
            for (i, dx) in dx.iter().enumerate() {
                let from = i / (pixels * channels) * channels + i % channels;
                assert!((dx - y[from] / pixels as f32).abs() < 1e-5);
            }
        }
    }
}
