//! The largest value of every window of an image.

use crate::parallel::{chunks_of_mut, run_all};
use crate::simd::simd;

simd! {
    /// One image. `taken` becomes the place of the largest value in its window, the first of several;
    /// a value that is no number is larger than any.
    fn image_max(
        image: &[f32], width: usize, channels: usize, window: [usize; 2],
        out: &mut [f32], taken: Option<&mut [f32]>,
    ) {
        let across = width / window[1];
        let mut taken = taken;
        for (pixel, out) in out.chunks_exact_mut(channels).enumerate() {
            let corner = pixel / across * window[0] * width + pixel % across * window[1];
            let place = |y: usize, x: usize| &image[(corner + y * width + x) * channels..][..channels];
            out.copy_from_slice(place(0, 0));
            match taken.as_deref_mut() {
                Some(taken) => {
                    let taken = &mut taken[pixel * channels..][..channels];
                    taken.fill(0.0);
                    for y in 0..window[0] {
                        for x in 0..window[1] {
                            let number = (y * window[1] + x) as f32;
                            let values = place(y, x);
                            for ((out, taken), &value) in out.iter_mut().zip(taken.iter_mut()).zip(values) {
                                let larger = is_larger(value, *out);
                                *out = if larger { value } else { *out };
                                *taken = if larger { number } else { *taken };
                            }
                        }
                    }
                }
                None => {
                    for y in 0..window[0] {
                        for x in 0..window[1] {
                            for (out, &value) in out.iter_mut().zip(place(y, x)) {
                                *out = if is_larger(value, *out) { value } else { *out };
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Whether a value takes the place of the largest so far.
#[inline(always)]
#[allow(clippy::eq_op, reason = "what is no number is not equal to itself")]
fn is_larger(value: f32, largest: f32) -> bool {
    (value > largest) | ((value != value) & (largest == largest))
}

simd! {
    /// The gradient of one image: a window's goes to the place that was taken.
    fn image_max_backward(
        gradient: &[f32], taken: &[f32], width: usize, channels: usize, window: [usize; 2],
        out: &mut [f32],
    ) {
        let across = width / window[1];
        let windows = gradient.chunks_exact(channels).zip(taken.chunks_exact(channels));
        for (pixel, (gradient, taken)) in windows.enumerate() {
            let corner = pixel / across * window[0] * width + pixel % across * window[1];
            for y in 0..window[0] {
                for x in 0..window[1] {
                    let number = (y * window[1] + x) as f32;
                    let out = &mut out[(corner + y * width + x) * channels..][..channels];
                    for ((out, &gradient), &taken) in out.iter_mut().zip(gradient).zip(taken) {
                        *out = if taken == number { gradient } else { 0.0 };
                    }
                }
            }
        }
    }
}

/// `out[b, y, x, c] = max over the window at (y, x) of input`, from images
/// `[batch, height, width, channels]` whose sizes are multiples of the window's.
///
/// `taken`, where there is one, is of the output's size and becomes the place inside of each window
/// that the largest value was found at, in rows: what the gradient needs.
pub fn max_over_windows(
    input: &[f32],
    [height, width, channels]: [usize; 3],
    window: [usize; 2],
    out: &mut [f32],
    taken: Option<&mut [f32]>,
) {
    let (image, small) =
        (height * width * channels, height * width * channels / (window[0] * window[1]));
    if small == 0 {
        return;
    }
    assert_eq!(input.len() / image, out.len() / small, "the size of the output");
    let nanoseconds = input.len() / 8;
    let images = input.chunks_exact(image).zip(out.chunks_exact_mut(small));
    let images = images.zip(chunks_of_mut(taken, small));
    run_all(images, nanoseconds, |((image, out), taken)| {
        image_max(image, width, channels, window, out, taken);
    });
}

/// The gradient of the input, from the output's and the places that were taken.
pub fn max_over_windows_backward(
    gradient: &[f32],
    taken: &[f32],
    [height, width, channels]: [usize; 3],
    window: [usize; 2],
    out: &mut [f32],
) {
    let (image, small) =
        (height * width * channels, height * width * channels / (window[0] * window[1]));
    if small == 0 {
        return;
    }
    assert_eq!(out.len() / image, gradient.len() / small, "the size of the input's gradient");
    let nanoseconds = out.len() / 8;
    let windows = gradient.chunks_exact(small).zip(taken.chunks_exact(small));
    run_all(out.chunks_exact_mut(image).zip(windows), nanoseconds, |(out, (gradient, taken))| {
        image_max_backward(gradient, taken, width, channels, window, out);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_first_and_what_is_no_number_stays() {
        let nan = f32::NAN;
        for (window, expected, place) in [
            ([1.0, 3.0, 3.0, 2.0], 3.0, 1.0),
            ([-1.0, -1.0, -1.0, -1.0], -1.0, 0.0),
            ([1.0, nan, 7.0, nan], nan, 1.0),
            ([f32::NEG_INFINITY, f32::NEG_INFINITY, f32::INFINITY, 0.0], f32::INFINITY, 2.0),
        ] {
            let (mut out, mut taken) = ([0.0], [9.0]);
            max_over_windows(&window, [2, 2, 1], [2, 2], &mut out, Some(&mut taken));
            assert_eq!(out[0].to_bits(), expected.to_bits());
            assert_eq!(taken, [place]);
            let mut plain = [0.0];
            max_over_windows(&window, [2, 2, 1], [2, 2], &mut plain, None);
            assert_eq!(plain[0].to_bits(), expected.to_bits());
            let mut gradient = [9.0; 4];
            max_over_windows_backward(&[5.0], &taken, [2, 2, 1], [2, 2], &mut gradient);
            let here = |at: usize| if at as f32 == place { 5.0 } else { 0.0 };
            assert_eq!(gradient, [0, 1, 2, 3].map(here));
        }
    }
}
