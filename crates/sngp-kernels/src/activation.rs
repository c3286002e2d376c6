//! Activation functions on slices.

use crate::elementary::{gelu, gelu_derivative};
use crate::parallel::run_all;
use crate::simd::simd;

/// Elements of one piece of work.
const PIECE: usize = 8192;

/// The activation of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x`
    Identity,
    /// `max(x, 0)`, NaN kept
    Relu,
    /// `x/2 (1 + erf(x / sqrt 2))`
    Gelu,
}

impl Activation {
    /// `f(x)`.
    #[inline(always)]
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Self::Identity => x,
            Self::Relu => {
                // A NaN stays one, `f32::max` would drop it. The plain `if x < 0.0 { 0.0 } else { x }`
                // keeps it too, but in place LLVM makes masked stores of it, four times as slow.
                let positive = if x > 0.0 { x } else { 0.0 };
                let nan = if x.is_nan() { f32::NAN.to_bits() } else { 0 };
                f32::from_bits(positive.to_bits() | nan)
            }
            Self::Gelu => gelu(x),
        }
    }

    /// `f'(x)`; 0 at the kink of relu.
    #[inline(always)]
    pub fn derivative(self, x: f32) -> f32 {
        match self {
            Self::Identity => 1.0,
            Self::Relu => {
                if x > 0.0 {
                    1.0
                } else {
                    0.0
                }
            }
            Self::Gelu => gelu_derivative(x),
        }
    }

    /// One core's nanoseconds for that many elements, roughly.
    fn nanoseconds(self, elements: usize) -> usize {
        match self {
            Self::Identity | Self::Relu => elements / 4,
            Self::Gelu => elements / 2,
        }
    }

    /// `y = f(x)`.
    pub fn forward(self, x: &[f32], y: &mut [f32]) {
        assert_eq!(x.len(), y.len());
        let pieces = x.chunks(PIECE).zip(y.chunks_mut(PIECE));
        run_all(pieces, self.nanoseconds(x.len()), |(x, y)| forward_piece(self, x, y));
    }

    /// `x = f(x)`.
    pub fn forward_in_place(self, x: &mut [f32]) {
        let nanoseconds = self.nanoseconds(x.len());
        run_all(x.chunks_mut(PIECE), nanoseconds, |x| forward_piece_in_place(self, x));
    }

    /// `dx = dy f'(x)`.
    pub fn backward(self, x: &[f32], dy: &[f32], dx: &mut [f32]) {
        assert_eq!(x.len(), dy.len());
        assert_eq!(x.len(), dx.len());
        let pieces = x.chunks(PIECE).zip(dy.chunks(PIECE)).zip(dx.chunks_mut(PIECE));
        run_all(pieces, self.nanoseconds(x.len()), |((x, dy), dx)| {
            backward_piece(self, x, dy, dx);
        });
    }

    /// `dy = dy f'(x)`.
    pub fn backward_in_place(self, x: &[f32], dy: &mut [f32]) {
        assert_eq!(x.len(), dy.len());
        let pieces = x.chunks(PIECE).zip(dy.chunks_mut(PIECE));
        run_all(pieces, self.nanoseconds(x.len()), |(x, dy)| {
            backward_piece_in_place(self, x, dy);
        });
    }
}

/// Runs the loop with the activation a constant, so that no element asks which one it is.
macro_rules! for_each_activation {
    ($activation:expr, $constant:ident => $loop:block) => {
        match $activation {
            Activation::Identity => {
                const $constant: Activation = Activation::Identity;
                $loop
            }
            Activation::Relu => {
                const $constant: Activation = Activation::Relu;
                $loop
            }
            Activation::Gelu => {
                const $constant: Activation = Activation::Gelu;
                $loop
            }
        }
    };
}

simd! {
    fn forward_piece(activation: Activation, x: &[f32], y: &mut [f32]) {
        for_each_activation!(activation, F => {
            for (y, &x) in y.iter_mut().zip(x) {
                *y = F.apply(x);
            }
        });
    }
}

simd! {
    fn forward_piece_in_place(activation: Activation, x: &mut [f32]) {
        for_each_activation!(activation, F => {
            for x in x.iter_mut() {
                *x = F.apply(*x);
            }
        });
    }
}

simd! {
    fn backward_piece(activation: Activation, x: &[f32], dy: &[f32], dx: &mut [f32]) {
        for_each_activation!(activation, F => {
            for ((dx, &dy), &x) in dx.iter_mut().zip(dy).zip(x) {
                *dx = dy * F.derivative(x);
            }
        });
    }
}

simd! {
    fn backward_piece_in_place(activation: Activation, x: &[f32], dy: &mut [f32]) {
        for_each_activation!(activation, F => {
            for (dy, &x) in dy.iter_mut().zip(x) {
                *dy *= F.derivative(x);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Activation; 3] = [Activation::Identity, Activation::Relu, Activation::Gelu];

    fn values(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 37 % 1001) as f32 - 500.0) / 70.0).collect()
    }

    #[test]
    fn slices_are_the_function_element_by_element() {
        for activation in ALL {
            for count in [0, 1, 7, 8, 33, 3 * PIECE + 5, 9 * PIECE] {
                let x = values(count);
                let mut y = vec![9.0; count];
                activation.forward(&x, &mut y);
                // Vector and scalar code round alike up to the fused products.
                let close = |a: f32, b: f32| (a - b).abs() <= 1e-6 * b.abs().max(1e-3);
                assert!(x.iter().zip(&y).all(|(&x, &y)| close(y, activation.apply(x))));
                let mut z = x.clone();
                activation.forward_in_place(&mut z);
                assert_eq!(y, z);

                let dy = values(count).into_iter().map(|v| 0.3 - v).collect::<Vec<_>>();
                let mut dx = vec![9.0; count];
                activation.backward(&x, &dy, &mut dx);
                let expected = x.iter().zip(&dy).map(|(&x, &dy)| dy * activation.derivative(x));
                assert!(dx.iter().zip(expected).all(|(&a, b)| close(a, b)));
                let mut dz = dy.clone();
                activation.backward_in_place(&x, &mut dz);
                assert_eq!(dx, dz);
            }
        }
    }

    #[test]
    fn derivative_is_the_slope() {
        for activation in ALL {
            for x in values(200).into_iter().filter(|x| x.abs() > 0.02) {
                let h = 0.01;
                let slope = (activation.apply(x + h) - activation.apply(x - h)) / (2.0 * h);
                assert!((slope - activation.derivative(x)).abs() < 2e-4, "{activation:?} {x}");
            }
        }
    }

    #[test]
    fn relu_keeps_nan() {
        assert!(Activation::Relu.apply(f32::NAN).is_nan());
    }
}
