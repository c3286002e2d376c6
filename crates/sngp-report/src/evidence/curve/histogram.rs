//! The spread of scores, each set by shares, on one common axis.

/// Bars of a large set; smaller ones get half or a quarter of them.
const BINS: usize = 44;
/// The share of scores at either end that does not stretch the axis.
const TAIL: f64 = 0.002;

/// A common axis for several sets of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::evidence) struct Histogram {
    /// The ends of the axis; scores beyond them count in the outermost bars.
    pub range: [f64; 2],
    /// Whether bars are equally wide in the logarithm.
    pub log: bool,
}

impl Histogram {
    /// An axis for sets that are each in ascending order. None when all are empty.
    ///
    /// It is logarithmic where the scores call for it: positive, and mostly huddled at the low
    /// end of a long range, as one minus the top probability is.
    pub fn of(sets: &[&[f64]]) -> Option<Self> {
        let ends = |quantile: f64| sets.iter().filter_map(move |set| at(set, quantile));
        let low = ends(TAIL).fold(f64::INFINITY, f64::min);
        let high = ends(1.0 - TAIL).fold(f64::NEG_INFINITY, f64::max);
        let middle = ends(0.5).fold(f64::INFINITY, f64::min);
        if !(low.is_finite() && high.is_finite()) {
            return None;
        }
        // A score of exactly zero has no logarithm; it goes to the lowest bar.
        let floor = low.max(high * 1e-8);
        if low >= 0.0 && high / floor > 1e3 && middle < 0.02 * high {
            return Some(Self { range: [floor, high], log: true });
        }
        // One single value still needs an axis with two ends.
        let pad = if high > low { 0.0 } else { (low.abs() * 0.5).max(0.5) };
        Some(Self { range: [low - pad, high + pad], log: false })
    }

    /// The outline of the set's bars as `[value, share of the set]`, left to right.
    ///
    /// Few scores in narrow bars would show nothing but chance, so theirs are two or four times
    /// as wide; the height is then the mean over the narrow bars, to stay comparable.
    pub fn outline(&self, values: &[f64]) -> Vec<[f64; 2]> {
        let merged = match values.len() {
            0..200 => 4,
            200..1_000 => 2,
            _ => 1,
        };
        let bar = |(index, shares): (usize, &[f64])| {
            let height = shares.iter().sum::<f64>() / merged as f64;
            [index, index + 1].map(|edge| [self.edge(edge * merged), height])
        };
        self.shares(values).chunks(merged).enumerate().flat_map(bar).collect()
    }

    /// The share of `values` in each bar; all zero when there are none.
    fn shares(&self, values: &[f64]) -> Vec<f64> {
        let mut counts = [0_usize; BINS];
        let [low, high] = self.range.map(|end| self.spread(end));
        for value in values {
            let position = (self.spread(*value) - low) / (high - low) * BINS as f64;
            // Casting saturates: what lies beyond the ends goes to the outermost bars.
            counts[(position as usize).min(BINS - 1)] += 1;
        }
        counts.iter().map(|count| *count as f64 / values.len().max(1) as f64).collect()
    }

    fn edge(&self, bin: usize) -> f64 {
        let [low, high] = self.range.map(|end| self.spread(end));
        let value = low + (high - low) * bin as f64 / BINS as f64;
        // The ends themselves, not what rounding makes of them.
        match bin {
            0 => self.range[0],
            BINS => self.range[1],
            _ if self.log => 10_f64.powf(value),
            _ => value,
        }
    }

    fn spread(&self, value: f64) -> f64 {
        if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value }
    }
}

/// A quantile of ascending values.
fn at(values: &[f64], quantile: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    values.get((last as f64 * quantile).round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_sum_to_one_and_outliers_go_to_the_ends() {
        let values: Vec<f64> = (0..=1000).map(|i| f64::from(i) / 10.0).collect();
        let histogram = Histogram::of(&[&values, &[]]).unwrap();
        assert!(!histogram.log);
        let shares = histogram.shares(&[-1e9, 50.0, 1e9, f64::MAX]);
        assert_eq!((shares[0], shares[BINS - 1]), (0.25, 0.5));
        assert!((histogram.shares(&values).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(histogram.shares(&[]).iter().all(|share| *share == 0.0));
    }

    #[test]
    fn huddled_positive_scores_get_a_logarithmic_axis() {
        let values: Vec<f64> = (0..=600).map(|i| 10_f64.powf(f64::from(i) / 100.0 - 6.0)).collect();
        assert!(Histogram::of(&[&values]).unwrap().log);
        let zeros = [&[0.0; 90][..], &values].concat();
        let histogram = Histogram::of(&[&zeros]).unwrap();
        assert!(histogram.log && histogram.range[0] > 0.0);
        assert!(histogram.shares(&zeros)[0] > 0.1);
        let negative = [&[-1.0; 9][..], &values].concat();
        assert!(!Histogram::of(&[&negative]).unwrap().log);
    }

    #[test]
    fn a_constant_score_has_an_axis_too() {
        let histogram = Histogram::of(&[&[2.0; 9]]).unwrap();
        assert_eq!(histogram.range, [1.0, 3.0]);
        let outline = histogram.outline(&[2.0; 9]);
        assert_eq!(outline.len(), 2 * BINS / 4);
        assert_eq!((outline[0][0], outline[outline.len() - 1][0]), (1.0, 3.0));
        assert_eq!(histogram.outline(&[2.0; 1_000]).len(), 2 * BINS);
        assert_eq!(Histogram::of(&[&[], &[]]), None);
        assert!(Histogram::of(&[&[0.0; 9]]).is_some());
    }
}
