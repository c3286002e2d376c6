//! The best dual variables of one row.

/// Where the probabilities of a row add up to one closely enough.
const TOLERANCE: f32 = 1e-4;
const ITERATIONS: usize = 20;

/// The probabilities `p` with `p = softmax(b - kappa p)`, into `p`.
///
/// With `c` the logarithm of the softmax's sum, `ln p_k + kappa p_k = b_k - c`, which gives every
/// `p_k` by the Wright omega function; `c` is where they add up to one. Their sum is convex and falls
/// with `c`, so that Newton's method reaches it from the left, wherever it starts.
pub(super) fn settle(b: &[f32], kappa: f32, p: &mut [f32]) {
    let largest = b.iter().copied().fold(f32::MIN, f32::max);
    // One probability alone would be one here, so that the sum is not below it.
    let mut c = largest - kappa;
    let shift = kappa.ln();
    for _ in 0..ITERATIONS {
        let (mut sum, mut slope) = (0.0, 0.0);
        for (p, b) in p.iter_mut().zip(b) {
            *p = wright_omega(b - c + shift) / kappa;
            sum += *p;
            slope += *p / (1.0 + kappa * *p);
        }
        if (sum - 1.0).abs() < TOLERANCE {
            break;
        }
        c += (sum - 1.0) / slope;
    }
    let sum: f32 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= sum);
}

/// `w` with `w + ln w = x`: a start of the right size and one step of Fritsch, Shafer and Crowley.
fn wright_omega(x: f32) -> f32 {
    let start = match x {
        x if x < -8.0 => return x.max(-80.0).exp(),
        x if x < -2.0 => {
            let small = x.exp();
            small * (1.0 - small)
        }
        x if x < 1.5 => (2.0 / 3.0 * (x - 1.0)).exp(),
        x => x - x.ln() * (1.0 - 1.0 / x),
    };
    let rest = x - start - start.ln();
    let one = 1.0 + start;
    let both = one * (one + 2.0 / 3.0 * rest);
    start * (1.0 + rest / one * (both - 0.5 * rest) / (both - rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omega_solves_its_equation() {
        for step in -300..2000 {
            let x = step as f32 * 0.05;
            let w = wright_omega(x);
            assert!(w > 0.0 && (w + w.ln() - x).abs() < 1e-3 * x.abs().max(1.0), "{x} {w}");
        }
    }

    #[test]
    fn probabilities_are_their_own_softmax() {
        for kappa in [0.01, 1.0, 10.0, 300.0] {
            for spread in [0.1, 5.0, 60.0] {
                let b: Vec<f32> = (0..9).map(|k| spread * (k as f32 * 1.7).sin()).collect();
                let mut p = vec![0.0; 9];
                settle(&b, kappa, &mut p);
                let z: Vec<f32> = b.iter().zip(&p).map(|(b, p)| b - kappa * p).collect();
                let largest = z.iter().copied().fold(f32::MIN, f32::max);
                let sum: f32 = z.iter().map(|z| (z - largest).exp()).sum();
                for (p, z) in p.iter().zip(&z) {
                    let own = (z - largest).exp() / sum;
                    assert!((p - own).abs() < 2e-3 * kappa.max(1.0), "{kappa} {spread} {p} {own}");
                }
            }
        }
    }
}
