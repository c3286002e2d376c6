//! What is usual: the values of a score on held-out examples.

use crate::{Error, Result};

/// Values that are kept; of more, evenly spread ranks.
const KEPT: usize = 2048;
/// The share of the values that the tail is made of, and how many it takes at least.
const TAIL: f64 = 0.1;
const TAIL_VALUES: usize = 20;
/// Shares of a value, and of the largest one, that a score may be off by: networks compute in f32,
/// in another order for another batch.
const ROUNDING: (f64, f64) = (1e-4, 1e-5);

/// The values of a score on held-out examples, least first. Values that differ by no more than
/// rounding are alike to it: a row would else rank differently alone and in a batch.
///
/// ```
/// use sngp::detect::Reference;
///
/// let usual = Reference::new((1..=99).map(f64::from).collect())?;
/// assert_eq!(usual.p_value(90.0), 0.11); // itself and ten of a hundred are as large
/// assert!(usual.surprise(200.0) > usual.surprise(100.0)); // where no held-out value is
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    sorted: Vec<f64>,
    /// Where the tail begins, how rare that is, and the mean excess over it.
    start: f64,
    rarity: f64,
    excess: f64,
}

impl Reference {
    /// The reference of values; those that are no numbers are left out.
    pub fn new(mut values: Vec<f64>) -> Result<Self> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let count = values.len();
        if count == 0 {
            return Err(Error::Data("no held-out example has a score to compare with".to_string()));
        }
        let sorted: Vec<f64> = match count > KEPT {
            true => (0..KEPT).map(|rank| values[rank * (count - 1) / (KEPT - 1)]).collect(),
            false => values,
        };
        let count = sorted.len();
        let tail = ((count as f64 * TAIL) as usize).max(TAIL_VALUES).min(count.div_ceil(2));
        let start = sorted[count - tail];
        let sum: f64 = sorted[count - tail..].iter().map(|value| value - start).sum();
        let spread = sorted[count - 1] - sorted[0];
        // Values that are all alike have no tail: anything above them is unheard of.
        let excess = (sum / tail as f64).max(1e-9 * spread).max(f64::MIN_POSITIVE.sqrt());
        let rarity = ((count + 1) as f64 / (tail + 1) as f64).ln();
        Ok(Self { sorted, start, rarity, excess })
    }

    /// The values, least first.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The exponential tail of [`surprise`](Self::surprise): where it begins, `-ln p` there, and the
    /// mean excess over it.
    pub fn tail(&self) -> (f64, f64, f64) {
        (self.start, self.rarity, self.excess)
    }

    /// The share of examples like the held-out ones that are at least so uncertain: a conformal
    /// p-value, never zero. What is no number has none.
    pub fn p_value(&self, value: f64) -> f64 {
        if value.is_nan() {
            return value;
        }
        let least = self.at_least(value);
        let below = self.sorted.partition_point(|usual| *usual < least);
        (1 + self.sorted.len() - below) as f64 / (1 + self.sorted.len()) as f64
    }

    /// `-ln p`, with an exponential tail: beyond the held-out values a p-value could not get any
    /// smaller, and what is far could not be told from what is farther.
    pub fn surprise(&self, value: f64) -> f64 {
        let least = self.at_least(value);
        if least > self.start {
            self.rarity + (least - self.start) / self.excess
        } else {
            -self.p_value(value).ln()
        }
    }

    /// What a value is at least, whatever was rounded: p-values can only get larger by it.
    fn at_least(&self, value: f64) -> f64 {
        let (share, least) = self.rounding();
        if value.is_finite() { value - (share * value.abs() + least) } else { value }
    }

    /// How much a value may be off by: a share of itself, and so much in any case.
    pub fn rounding(&self) -> (f64, f64) {
        let largest = self.sorted[0].abs().max(self.sorted[self.sorted.len() - 1].abs());
        (ROUNDING.0, ROUNDING.1 * largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_of_exchangeable_values_are_uniform() {
        let usual = Reference::new((0..999).map(|i| f64::from(i * 7919 % 999)).collect()).unwrap();
        for share in [0.01, 0.1, 0.5] {
            let fresh = (0..1000).map(|i| f64::from(i) * 0.999 - 0.5);
            let small = fresh.filter(|value| usual.p_value(*value) <= share).count();
            assert!((small as f64 / 1000.0 - share).abs() <= 0.002, "{share} {small}");
        }
    }

    #[test]
    fn rounding_changes_no_rank() {
        let values = || (0..40).map(|i| f64::from(i % 4) + 1.0);
        let usual = Reference::new(values().map(|v| v * (1.0 + 1e-6 * v.sin())).collect()).unwrap();
        for value in values() {
            let (low, high) = (value * (1.0 - 1e-6), value * (1.0 + 1e-6));
            assert_eq!(usual.p_value(low), usual.p_value(high));
            // In the tail, eight millionths in widths of half.
            assert!((usual.surprise(low) - usual.surprise(high)).abs() < 2e-5);
        }
    }

    #[test]
    fn surprise_grows_and_is_never_a_number_for_what_is_none() {
        for count in [1, 3, 20, 500] {
            let usual = Reference::new((0..count).map(f64::from).collect()).unwrap();
            let values: Vec<f64> = (-5..1000).map(|v| usual.surprise(f64::from(v))).collect();
            assert!(values.is_sorted(), "{count}");
            assert!(usual.surprise(f64::NAN).is_nan());
            assert_eq!(usual.surprise(f64::INFINITY), f64::INFINITY);
        }
        assert!(Reference::new(vec![f64::NAN]).is_err());
        let constant = Reference::new(vec![2.0; 50]).unwrap();
        assert!(constant.surprise(2.1) > 1e3 && constant.surprise(2.0).abs() < 1e-12);
    }
}
