//! Elementary functions without branches, so that a loop over them vectorises.
//!
//! All take any f32; `min`/`max` are written as comparisons that keep a NaN.

/// Adding this to a small f32 rounds it to an integer, found in the low bits of the sum.
const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts: the first has few bits, so that its product with an integer is exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// `e^r` for `|r| <= ln 2 / 2`.
///
/// Pairs of terms first, then the pairs (Estrin): one term after the other the loop would wait for
/// each product.
#[inline(always)]
fn exp_reduced(r: f32) -> f32 {
    let s = r * r;
    let high = 1.987_569_1e-4_f32.mul_add(r, 1.398_2e-3);
    let middle = 8.333_452e-3_f32.mul_add(r, 4.166_579_6e-2);
    let low = 1.666_666_5e-1_f32.mul_add(r, 0.5);
    let p = high.mul_add(s, middle).mul_add(s, low);
    p.mul_add(s, r) + 1.0
}

/// `e^x` for `x <= 0`, all that softmax and gelu need: below -87.7 the result is 0.
#[inline(always)]
pub fn exp_nonpositive(x: f32) -> f32 {
    // The exponent's bias goes into the rounding constant: the power is then one shift away, and
    // the bits of 2^-127 are those of 0. A comparison that zeroes the result would do the same, but
    // LLVM makes a branch of it, and where it unrolls before it vectorises the loop stays scalar.
    const BIASED: f32 = ROUND + 127.0;
    let x = if x < -88.0 { -88.0 } else { x };
    let rounded = x.mul_add(std::f32::consts::LOG2_E, BIASED);
    let n = rounded - BIASED;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    exp_reduced(r) * f32::from_bits(rounded.to_bits() << 23)
}

/// The error function within 3.5e-7, a ratio of polynomials: enough for gelu.
#[inline(always)]
fn erf(x: f32) -> f32 {
    // Here erf is 1 in f32.
    let x = if x < -4.0 { -4.0 } else { x };
    let x = if x > 4.0 { 4.0 } else { x };
    let s = x * x;
    let t = s * s;
    let high = (-2.726_142_3e-10_f32).mul_add(s, 2.770_681_4e-8);
    let middle = (-2.101_024e-6_f32).mul_add(s, -5.692_506_4e-5);
    let low = (-7.349_906_3e-4_f32).mul_add(s, -2.954_6e-3);
    let p = high.mul_add(t, middle).mul_add(t, low).mul_add(s, -1.609_603_3e-2);
    let high = (-1.456_607_2e-5_f32).mul_add(s, -2.133_740_6e-4);
    let low = (-1.682_827e-3_f32).mul_add(s, -7.373_329_2e-3);
    let q = high.mul_add(t, low).mul_add(s, -1.426_473_9e-2);
    x * p / q
}

/// Gelu, exact form: `x/2 (1 + erf(x / sqrt 2))`.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    // Below -5.7 gelu is 0 but for rounding, and so is the product with the bounded factor; with
    // the factor itself a far value would multiply the rounding of erf.
    let bounded = if x < -5.7 { -5.7 } else { x };
    let half = 0.5 * bounded;
    half.mul_add(erf(x * std::f32::consts::FRAC_1_SQRT_2), half)
}

/// Derivative of gelu: `(1 + erf(x / sqrt 2)) / 2 + x e^(-x^2/2) / sqrt(2 pi)`.
#[inline(always)]
pub fn gelu_derivative(x: f32) -> f32 {
    const INVERSE_SQRT_TAU: f32 = 0.398_942_3;
    // Beyond these the second term is 0; infinity times 0 would be NaN.
    let bounded = if x < -14.0 { -14.0 } else { x };
    let bounded = if bounded > 14.0 { 14.0 } else { bounded };
    let density = exp_nonpositive(-0.5 * bounded * bounded);
    let distribution = erf(x * std::f32::consts::FRAC_1_SQRT_2).mul_add(0.5, 0.5);
    (bounded * INVERSE_SQRT_TAU).mul_add(density, distribution)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// erf in f64: the series near 0, the continued fraction of erfc further out.
    fn erf64(x: f64) -> f64 {
        if x.abs() < 2.5 {
            let (mut term, mut sum) = (x, x);
            for n in 1..80 {
                term *= -x * x / n as f64;
                sum += term / (2 * n + 1) as f64;
            }
            sum * std::f64::consts::FRAC_2_SQRT_PI
        } else {
            (1.0 - erfc64(x.abs())).copysign(x)
        }
    }

    fn erfc64(x: f64) -> f64 {
        if x < 2.5 {
            return 1.0 - erf64(x);
        }
        let fraction = (1..120).rev().fold(0.0, |f, n| n as f64 / 2.0 / (x + f));
        (-x * x).exp() / (x + fraction) / std::f64::consts::PI.sqrt()
    }

    /// Phi in f64.
    fn phi64(x: f64) -> f64 {
        let tail = 0.5 * erfc64(x.abs() / std::f64::consts::SQRT_2);
        if x < 0.0 { tail } else { 1.0 - tail }
    }

    /// Difference in units in the last place of the f32 next to `exact`.
    fn ulps(found: f32, exact: f64) -> f64 {
        let near = (exact as f32).abs().max(f32::MIN_POSITIVE);
        let unit = f64::from(f32::from_bits(near.to_bits() + 1)) - f64::from(near);
        (f64::from(found) - exact).abs() / unit
    }

    fn grid(low: f32, high: f32) -> impl Iterator<Item = f32> {
        (0..=400_000).map(move |i| low + (high - low) * (i as f32 / 400_000.0))
    }

    fn worst(points: impl Iterator<Item = f32>, error: impl Fn(f32) -> f64) -> f64 {
        points.map(error).fold(0.0, f64::max)
    }

    #[test]
    fn the_exponential_is_accurate() {
        let error = worst(grid(-87.6, 0.0), |x| ulps(exp_nonpositive(x), f64::from(x).exp()));
        assert!(error < 2.0, "{error}");
    }

    #[test]
    fn the_exponential_at_its_ends() {
        assert_eq!(exp_nonpositive(0.0), 1.0);
        assert_eq!(exp_nonpositive(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp_nonpositive(-1e30), 0.0);
        assert!(exp_nonpositive(f32::NAN).is_nan());
        assert!(exp_nonpositive(f32::from_bits(0x7fc1_2345)).is_nan());
    }

    #[test]
    fn the_error_function_is_accurate() {
        let error = worst(grid(-6.0, 6.0), |x| (f64::from(erf(x)) - erf64(f64::from(x))).abs());
        assert!(error < 3.5e-7, "{error}");
    }

    #[test]
    fn gelu_is_accurate() {
        let exact = |x: f32| f64::from(x) * phi64(f64::from(x));
        let error = worst(grid(-8.0, 8.0), |x| {
            (f64::from(gelu(x)) - exact(x)).abs() / f64::from(x.abs().max(1.0))
        });
        let near = worst(grid(-0.5, 0.5).filter(|&x| x != 0.0), |x| {
            (f64::from(gelu(x)) / exact(x) - 1.0).abs()
        });
        assert!(error < 2.2e-7 && near < 2e-7);
        assert_eq!(gelu(0.0), 0.0);
        assert_eq!((gelu(f32::INFINITY), gelu(1e30)), (f32::INFINITY, 1e30));
        for far in [-6.0, -1e3, -1e30, f32::NEG_INFINITY] {
            assert!(gelu(far).abs() < 3e-7, "{far}: {}", gelu(far));
        }
        assert!(gelu(f32::NAN).is_nan());
    }

    #[test]
    fn gelu_derivative_is_accurate() {
        let error = worst(grid(-15.0, 15.0), |x| {
            let y = f64::from(x);
            let density = (-0.5 * y * y).exp() / std::f64::consts::TAU.sqrt();
            (f64::from(gelu_derivative(x)) - phi64(y) - y * density).abs()
        });
        assert!(error < 3e-7);
        assert!((gelu_derivative(f32::INFINITY) - 1.0).abs() < 2e-7);
        assert!(gelu_derivative(f32::NEG_INFINITY).abs() < 2e-7);
        assert!(gelu_derivative(f32::NAN).is_nan());
    }
}
