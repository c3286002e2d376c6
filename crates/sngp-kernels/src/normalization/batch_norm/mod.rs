//! Batch normalisation of `[pixels, channels]`, with the ReLU that follows it.
//!
//! Training: `y = relu?(gamma (x - mean) inv_std + beta)` with the mean and the biased variance of
//! the batch. These kernels are bound by the memory, so each of them passes over it as few times
//! as it can, and what the ReLU let through is worked out again rather than read.

mod block;
#[cfg(test)]
mod tests;

use block::{
    block_gradients, block_input_gradient, block_statistics, normalize_block, scale_block,
};

use crate::parallel::run_all;
use crate::scratch::with_scratch;

/// Values of a block: it stays in the first-level cache between the two looks at it. Fixed, so
/// that the order of additions is.
const BLOCK_VALUES: usize = 4096;

/// The statistics of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchStatistics {
    pub pixels: usize,
    pub mean: Vec<f32>,
    /// Divided by the number of pixels.
    pub variance: Vec<f32>,
}

impl BatchStatistics {
    /// Of `[pixels, channels]`; zero for an empty batch.
    ///
    /// Blocks give their mean and the sum of squares around it; both are put together in f64, in
    /// the order of the blocks.
    pub fn new(input: &[f32], channels: usize) -> Self {
        let pixels = rows(input, channels);
        let block = block_rows(channels);
        let blocks = pixels.div_ceil(block);
        let (mut mean, mut squares) = (vec![0.0f64; channels], vec![0.0f64; channels]);
        with_scratch([2 * blocks * channels], |[partial]| {
            let pieces = partial.chunks_mut(2 * channels.max(1));
            let pieces = pieces.zip(input.chunks(block * channels.max(1)));
            run_all(pieces, input.len() / 4, |(out, input)| {
                let (mean, squares) = out.split_at_mut(channels);
                block_statistics(input, mean, squares);
            });
            for (index, partial) in partial.chunks_exact(2 * channels.max(1)).enumerate() {
                let before = (index * block) as f64;
                let count = block.min(pixels - index * block) as f64;
                // Chan's formula for two sets of values.
                let share = count / (before + count);
                let (means, sums) = partial.split_at(channels);
                for channel in 0..channels {
                    let difference = f64::from(means[channel]) - mean[channel];
                    mean[channel] += difference * share;
                    squares[channel] +=
                        f64::from(sums[channel]) + difference * difference * before * share;
                }
            }
        });
        let variance = squares.iter().map(|sum| (sum / pixels.max(1) as f64) as f32).collect();
        Self { pixels, mean: mean.iter().map(|mean| *mean as f32).collect(), variance }
    }

    /// The variance divided by one less, as running statistics want it; of a single pixel, zero.
    pub fn unbiased_variance(&self) -> Vec<f32> {
        let factor = self.pixels as f64 / self.pixels.saturating_sub(1).max(1) as f64;
        self.variance.iter().map(|variance| (f64::from(*variance) * factor) as f32).collect()
    }

    /// `1 / sqrt(variance + epsilon)`.
    pub fn inverse_deviation(&self, epsilon: f32) -> Vec<f32> {
        let inverse = |variance: &f32| 1.0 / (f64::from(*variance) + f64::from(epsilon)).sqrt();
        self.variance.iter().map(|variance| inverse(variance) as f32).collect()
    }
}

/// What normalises a batch: vectors of one value per channel.
#[derive(Clone, Copy, Debug)]
pub struct Normalization<'a> {
    pub mean: &'a [f32],
    pub inverse_deviation: &'a [f32],
    pub gamma: &'a [f32],
    pub beta: &'a [f32],
    pub relu: bool,
}

impl Normalization<'_> {
    fn channels(&self) -> usize {
        let sizes = [self.mean.len(), self.inverse_deviation.len(), self.beta.len()];
        assert_eq!(sizes, [self.gamma.len(); 3], "one value per channel");
        self.gamma.len()
    }

    /// `gamma * inverse deviation`.
    fn scale(&self) -> Vec<f32> {
        self.gamma
            .iter()
            .zip(self.inverse_deviation)
            .map(|(gamma, inverse)| gamma * inverse)
            .collect()
    }
}

/// `out = relu?(gamma (input - mean) inverse_deviation + beta)`.
pub fn normalize(input: &[f32], by: &Normalization<'_>, out: &mut [f32]) {
    let channels = by.channels();
    rows(input, channels);
    assert_eq!(input.len(), out.len(), "the size of a normalisation's output");
    let scale = by.scale();
    let size = block_rows(channels) * channels.max(1);
    let pieces = out.chunks_mut(size).zip(input.chunks(size));
    run_all(pieces, input.len() / 4, |(out, input)| {
        normalize_block(input, by.mean, &scale, by.beta, by.relu, out);
    });
}

/// `out = relu?(scale * input + shift)`: with the running statistics folded in, for evaluation.
pub fn scale_and_shift(input: &[f32], scale: &[f32], shift: &[f32], relu: bool, out: &mut [f32]) {
    let channels = scale.len();
    rows(input, channels);
    assert_eq!(channels, shift.len(), "one value per channel");
    assert_eq!(input.len(), out.len(), "the size of a normalisation's output");
    let size = block_rows(channels) * channels.max(1);
    let pieces = out.chunks_mut(size).zip(input.chunks(size));
    run_all(pieces, input.len() / 4, |(out, input)| scale_block(input, scale, shift, relu, out));
}

/// The gradients of gamma and beta.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterGradients {
    pub gamma: Vec<f32>,
    pub beta: Vec<f32>,
}

/// The gradients of [`normalize`] with the batch's own statistics; that of the input goes to
/// `out`.
///
/// With `g` the output's gradient where the ReLU let it through and
/// `x' = (x - mean) inv_std`: `d beta = sum g`, `d gamma = sum g x'`, and
/// `dx = gamma inv_std (g - d beta / n - x' d gamma / n)`.
pub fn backward(
    input: &[f32],
    output_gradient: &[f32],
    by: &Normalization<'_>,
    out: &mut [f32],
) -> ParameterGradients {
    let channels = by.channels();
    let pixels = rows(input, channels);
    assert_eq!(input.len(), output_gradient.len(), "the size of the output's gradient");
    assert_eq!(input.len(), out.len(), "the size of the input's gradient");
    let scale = by.scale();
    let size = block_rows(channels) * channels.max(1);
    let mut sums = vec![0.0f64; 2 * channels];
    with_scratch([input.len().div_ceil(size) * 2 * channels], |[partial]| {
        let pieces = partial.chunks_mut(2 * channels.max(1));
        let pieces = pieces.zip(input.chunks(size)).zip(output_gradient.chunks(size));
        run_all(pieces, input.len() / 4, |((sums, input), gradient)| {
            let (beta, gamma) = sums.split_at_mut(channels);
            block_gradients(input, gradient, by.mean, &scale, by.beta, by.relu, beta, gamma);
        });
        for partial in partial.chunks_exact(2 * channels.max(1)) {
            for (sum, value) in sums.iter_mut().zip(partial) {
                *sum += f64::from(*value);
            }
        }
    });
    let (beta, gamma) = sums.split_at(channels);
    let inverse = by.inverse_deviation.iter().map(|inverse| f64::from(*inverse));
    let gamma: Vec<f64> = gamma.iter().zip(inverse.clone()).map(|(sum, inv)| sum * inv).collect();
    let count = pixels.max(1) as f64;
    // `dx = scale g + slope (x - mean) + constant`.
    let constant: Vec<f32> =
        beta.iter().zip(&scale).map(|(sum, s)| (-sum / count * f64::from(*s)) as f32).collect();
    let slopes = gamma.iter().zip(inverse).zip(&scale);
    let slope: Vec<f32> =
        slopes.map(|((sum, inv), s)| (-sum / count * inv * f64::from(*s)) as f32).collect();
    let pieces = out.chunks_mut(size).zip(input.chunks(size)).zip(output_gradient.chunks(size));
    run_all(pieces, input.len() / 4, |((out, input), gradient)| {
        let (slope, constant) = (&slope[..], &constant[..]);
        block_input_gradient(
            input, gradient, by.mean, &scale, by.beta, by.relu, slope, constant, out,
        );
    });
    let single = |sums: &[f64]| sums.iter().map(|sum| *sum as f32).collect();
    ParameterGradients { gamma: single(&gamma), beta: single(beta) }
}

fn rows(values: &[f32], channels: usize) -> usize {
    assert!(values.len().is_multiple_of(channels.max(1)), "whole pixels");
    values.len() / channels.max(1)
}

fn block_rows(channels: usize) -> usize {
    (BLOCK_VALUES / channels.max(1)).max(8)
}
