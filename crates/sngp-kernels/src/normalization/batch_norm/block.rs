//! The loops of batch normalisation over the pixels of a block.

use crate::simd::simd;

/// Where a normalised value is positive the ReLU lets the gradient through.
///
/// The same operations as in [`normalize_block`], so that both see the same sign.
#[inline(always)]
fn let_through(x: f32, mean: f32, scale: f32, beta: f32, relu: bool, gradient: f32) -> f32 {
    let y = (x - mean) * scale + beta;
    if !relu || y > 0.0 { gradient } else { 0.0 }
}

/// Unlike `max`, this lets NaN pass.
#[inline(always)]
fn rectified(value: f32, relu: bool) -> f32 {
    if relu && value < 0.0 { 0.0 } else { value }
}

simd! {
    /// The mean of every channel and the sum of squares around it.
    pub(super) fn block_statistics(input: &[f32], mean: &mut [f32], squares: &mut [f32]) {
        let n = mean.len();
        let squares = &mut squares[..n];
        mean.fill(0.0);
        squares.fill(0.0);
        // Four pixels at a time: fewer visits of the sums, and fewer roundings in them.
        let fours = input.chunks_exact(4 * n);
        let rest = fours.remainder();
        for four in fours.clone() {
            let (a, b) = four.split_at(2 * n);
            let ((a, b), (c, d)) = (a.split_at(n), b.split_at(n));
            for i in 0..n {
                mean[i] += (a[i] + b[i]) + (c[i] + d[i]);
            }
        }
        for pixel in rest.chunks_exact(n) {
            for i in 0..n {
                mean[i] += pixel[i];
            }
        }
        let share = 1.0 / (input.len() / n) as f32;
        for mean in &mut *mean {
            *mean *= share;
        }
        for four in fours {
            let (a, b) = four.split_at(2 * n);
            let ((a, b), (c, d)) = (a.split_at(n), b.split_at(n));
            for i in 0..n {
                let m = mean[i];
                let (a, b, c, d) = (a[i] - m, b[i] - m, c[i] - m, d[i] - m);
                squares[i] += (a * a + b * b) + (c * c + d * d);
            }
        }
        for pixel in rest.chunks_exact(n) {
            for i in 0..n {
                squares[i] += (pixel[i] - mean[i]) * (pixel[i] - mean[i]);
            }
        }
    }
}

simd! {
    /// `out = relu?((input - mean) * scale + beta)`.
    pub(super) fn normalize_block(
        input: &[f32],
        mean: &[f32],
        scale: &[f32],
        beta: &[f32],
        relu: bool,
        out: &mut [f32],
    ) {
        let n = mean.len();
        let (scale, beta) = (&scale[..n], &beta[..n]);
        for (out, input) in out.chunks_exact_mut(n).zip(input.chunks_exact(n)) {
            for i in 0..n {
                out[i] = rectified((input[i] - mean[i]) * scale[i] + beta[i], relu);
            }
        }
    }
}

simd! {
    /// `out = relu?(input * scale + shift)`.
    pub(super) fn scale_block(
        input: &[f32],
        scale: &[f32],
        shift: &[f32],
        relu: bool,
        out: &mut [f32],
    ) {
        let n = scale.len();
        let shift = &shift[..n];
        for (out, input) in out.chunks_exact_mut(n).zip(input.chunks_exact(n)) {
            for i in 0..n {
                out[i] = rectified(input[i] * scale[i] + shift[i], relu);
            }
        }
    }
}

simd! {
    /// The sums of the gradient and of the gradient times `input - mean`, where the ReLU lets it
    /// through.
    pub(super) fn block_gradients(
        input: &[f32],
        gradient: &[f32],
        mean: &[f32],
        scale: &[f32],
        beta: &[f32],
        relu: bool,
        sums: &mut [f32],
        products: &mut [f32],
    ) {
        let n = mean.len();
        let (scale, beta) = (&scale[..n], &beta[..n]);
        let (sums, products) = (&mut sums[..n], &mut products[..n]);
        sums.fill(0.0);
        products.fill(0.0);
        let (inputs, gradients) = (input.chunks_exact(2 * n), gradient.chunks_exact(2 * n));
        let (last_input, last_gradient) = (inputs.remainder(), gradients.remainder());
        // Two pixels at a time: fewer visits of the sums, and fewer roundings in them.
        for (input, gradient) in inputs.zip(gradients) {
            let ((a, b), (ga, gb)) = (input.split_at(n), gradient.split_at(n));
            for i in 0..n {
                let (m, s, t) = (mean[i], scale[i], beta[i]);
                let ga = let_through(a[i], m, s, t, relu, ga[i]);
                let gb = let_through(b[i], m, s, t, relu, gb[i]);
                sums[i] += ga + gb;
                products[i] += ga * (a[i] - m) + gb * (b[i] - m);
            }
        }
        if last_input.len() == n {
            for i in 0..n {
                let (x, m) = (last_input[i], mean[i]);
                let g = let_through(x, m, scale[i], beta[i], relu, last_gradient[i]);
                sums[i] += g;
                products[i] += g * (x - m);
            }
        }
    }
}

simd! {
    /// `out = scale * gradient + slope * (input - mean) + constant`, the gradient where the ReLU
    /// lets it through.
    pub(super) fn block_input_gradient(
        input: &[f32],
        gradient: &[f32],
        mean: &[f32],
        scale: &[f32],
        beta: &[f32],
        relu: bool,
        slope: &[f32],
        constant: &[f32],
        out: &mut [f32],
    ) {
        let n = mean.len();
        let (scale, beta, slope, constant) =
            (&scale[..n], &beta[..n], &slope[..n], &constant[..n]);
        let rows = input.chunks_exact(n).zip(gradient.chunks_exact(n));
        for (out, (input, gradient)) in out.chunks_exact_mut(n).zip(rows) {
            for i in 0..n {
                let (x, m, s) = (input[i], mean[i], scale[i]);
                let g = let_through(x, m, s, beta[i], relu, gradient[i]);
                out[i] = s * g + (slope[i] * (x - m) + constant[i]);
            }
        }
    }
}
