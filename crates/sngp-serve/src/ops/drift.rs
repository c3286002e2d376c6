//! Whether recent scores come from the same distribution as those of held-out rows.

/// The two-sample Kolmogorov-Smirnov test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The largest distance between the two distribution functions.
    pub statistic: f64,
    /// The probability of such a distance, or a larger one, where nothing has changed.
    pub p_value: f64,
}

impl Drift {
    /// Compares two samples, the first of them sorted; nothing where one of them is empty.
    ///
    /// ```
    /// use sngp_serve::ops::drift::Drift;
    ///
    /// let reference: Vec<f64> = (0..200).map(f64::from).collect();
    /// let same: Vec<f64> = (0..100).map(|i| 2.0 * f64::from(i) + 0.5).collect();
    /// let other: Vec<f64> = same.iter().map(|score| score + 60.0).collect();
    /// assert!(Drift::measure(&reference, same).unwrap().p_value > 0.9);
    /// assert!(Drift::measure(&reference, other).unwrap().p_value < 1e-4);
    /// ```
    pub fn measure(reference: &[f64], mut recent: Vec<f64>) -> Option<Self> {
        if reference.is_empty() || recent.is_empty() {
            return None;
        }
        recent.sort_by(f64::total_cmp);
        let (n, m) = (reference.len(), recent.len());
        let (mut i, mut j, mut statistic) = (0, 0, 0.0f64);
        while i < n && j < m {
            let value = reference[i].min(recent[j]);
            while i < n && reference[i] <= value {
                i += 1;
            }
            while j < m && recent[j] <= value {
                j += 1;
            }
            statistic = statistic.max((i as f64 / n as f64 - j as f64 / m as f64).abs());
        }
        let size = (n as f64 * m as f64 / (n + m) as f64).sqrt();
        // Stephens' correction makes the limit good for small samples.
        let p_value = kolmogorov((size + 0.12 + 0.11 / size) * statistic);
        Some(Self { statistic, p_value })
    }
}

/// The probability that Kolmogorov's statistic is at least `x`.
fn kolmogorov(x: f64) -> f64 {
    if x < 0.2 {
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * f64::from(k * k) * x * x).exp()
    };
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_has_its_known_quantiles() {
        // Critical values of Kolmogorov's distribution.
        for (x, p) in [(1.2238, 0.10), (1.3581, 0.05), (1.6276, 0.01), (0.8276, 0.5)] {
            assert!((kolmogorov(x) - p).abs() < 2e-4, "{x}: {}", kolmogorov(x));
        }
    }

    #[test]
    fn the_statistic_is_the_largest_distance() {
        let drift = Drift::measure(&[1.0, 2.0, 3.0, 4.0], vec![2.5, 3.5, 4.5, 5.5]).unwrap();
        assert!((drift.statistic - 0.5).abs() < 1e-12);
        let ties = Drift::measure(&[1.0, 1.0, 2.0], vec![1.0, 2.0, 1.0]).unwrap();
        assert_eq!(ties.statistic, 0.0);
        assert_eq!(Drift::measure(&[], vec![1.0]), None);
    }

    #[test]
    fn p_values_are_uniform_where_nothing_changes() {
        // A fixed pseudo-random sequence: 400 windows of 100 against a reference of 200.
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let below = (0..400).filter(|_| {
            let mut reference: Vec<f64> = (0..200).map(|_| uniform()).collect();
            reference.sort_by(f64::total_cmp);
            let recent = (0..100).map(|_| uniform()).collect();
            Drift::measure(&reference, recent).unwrap().p_value < 0.05
        });
        let share = below.count() as f64 / 400.0;
        assert!((0.02..0.09).contains(&share), "{share}");
    }
}
