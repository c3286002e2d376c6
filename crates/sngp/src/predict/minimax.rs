//! The paper's minimax result.

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::metrics::nll;
use crate::{Error, Result};

/// The least and the largest odds that are tried, and each beside the one before.
const ODDS: (f64, f64) = (1e-9, 1.0);
const STEP: f64 = 1.05;
/// No weight is smaller: the most probable class stays the most probable one.
const LEAST: f64 = 1e-6;

/// `w p + (1 - w) / K` with `w = p(x in domain)`: the distribution with the smallest worst-case
/// risk when nothing is known about inputs outside the domain.
///
/// ```
/// use ndarray::array;
///
/// let mixed = sngp::predict::minimax(array![[0.9, 0.1]].view(), &[0.5])?;
/// assert_eq!(mixed, array![[0.7, 0.3]]);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn minimax(probabilities: ArrayView2<'_, f64>, in_domain: &[f64]) -> Result<Array2<f64>> {
    if in_domain.len() != probabilities.nrows() {
        return Err(Error::shape("in-domain weights", probabilities.nrows(), in_domain.len()));
    }
    if let Some(row) = in_domain.iter().position(|w| !(0.0..=1.0).contains(w)) {
        return Err(Error::Data(format!(
            "row {row}: the in-domain probability is {}, but it must be in [0, 1]",
            in_domain[row]
        )));
    }
    let uniform = 1.0 / probabilities.ncols() as f64;
    Ok(Array2::from_shape_fn(probabilities.raw_dim(), |(i, k)| {
        in_domain[i] * probabilities[[i, k]] + (1.0 - in_domain[i]) * uniform
    }))
}

/// How a surprise becomes the probability of being in the domain.
///
/// The surprise of a row is `-ln p`, with its p-value among held-out examples: inside the domain
/// its density is `exp(-s)`. Outside nothing is known of it, so all surprises are taken as equally
/// likely, and Bayes' rule gives `w = 1 / (1 + odds exp(s))`, where `odds` are the prior odds of
/// being outside times that density.
///
/// ```
/// use sngp::predict::Minimax;
///
/// let minimax = Minimax { odds: 1e-3 };
/// assert!(minimax.in_domain(0.7) > 0.99); // as usual as half of the held-out examples
/// assert!(minimax.in_domain(20.0) < 1e-3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minimax {
    /// What one is outside with, at a surprise of zero.
    pub odds: f64,
}

impl Minimax {
    /// Refuses odds that are none.
    pub fn check(self) -> Result<()> {
        if self.odds > 0.0 && self.odds.is_finite() {
            return Ok(());
        }
        Err(Error::config("the odds of being out of domain", self.odds, "they must be positive"))
    }

    /// The probability that a row of this surprise is in the domain. What is no number is not.
    pub fn in_domain(self, surprise: f64) -> f64 {
        // A NaN is not larger than the least.
        (1.0 / (1.0 + self.odds * surprise.exp())).max(LEAST)
    }

    /// Probabilities of rows, mixed by their surprises.
    pub fn mix(self, probabilities: ArrayView2<'_, f64>, surprises: &[f64]) -> Result<Array2<f64>> {
        let weights: Vec<f64> = surprises.iter().map(|s| self.in_domain(*s)).collect();
        minimax(probabilities, &weights)
    }

    /// The largest odds that held-out examples of the domain do not speak against: with them, the
    /// mean confidence falls by no more than the standard error of the accuracy, and the negative
    /// log-likelihood rises by no more than its own. So whatever is outside gets as close to uniform
    /// as it can without a difference inside that could be told from chance.
    ///
    /// ```
    /// use ndarray::Array2;
    /// use sngp::predict::Minimax;
    ///
    /// let probabilities = Array2::from_shape_fn((100, 2), |(i, k)| {
    ///     if (i % 10 == 0) == (k == 1) { 0.9 } else { 0.1 }
    /// });
    /// let surprises: Vec<f64> = (0..100).map(|i| -((i as f64 + 1.0) / 101.0).ln()).collect();
    /// let minimax = Minimax::choose(probabilities.view(), &surprises, &[0; 100])?;
    /// assert!((1e-3..1e-1).contains(&minimax.odds));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn choose(
        probabilities: ArrayView2<'_, f64>,
        surprises: &[f64],
        labels: &[usize],
    ) -> Result<Self> {
        let rows = labels.len() as f64;
        let plain = nll(probabilities, labels)?;
        let own = |row: usize| -probabilities[[row, labels[row]]].max(f64::MIN_POSITIVE).ln();
        let spread = (0..labels.len()).map(|row| (own(row) - plain).powi(2)).sum::<f64>() / rows;
        let largest = (plain + (spread / rows).sqrt(), confidence(probabilities));
        let right = probabilities.axis_iter(Axis(0)).zip(labels).filter(|(row, label)| {
            row.iter().enumerate().all(|(k, p)| k == **label || *p < row[**label])
        });
        // One right and one wrong answer more than were seen: none of few is no proof.
        let accuracy = (right.count() as f64 + 1.0) / (rows + 2.0);
        let least = largest.1 - (accuracy * (1.0 - accuracy) / rows).sqrt();
        let mut chosen = Self { odds: ODDS.0 };
        loop {
            let next = Self { odds: chosen.odds * STEP };
            let mixed = next.mix(probabilities, surprises)?;
            let harmless =
                confidence(mixed.view()) >= least && nll(mixed.view(), labels)? <= largest.0;
            if next.odds > ODDS.1 || !harmless {
                return Ok(chosen);
            }
            chosen = next;
        }
    }
}

/// The mean of the largest probabilities.
fn confidence(probabilities: ArrayView2<'_, f64>) -> f64 {
    let tops = probabilities.axis_iter(Axis(0)).map(|row| row.iter().copied().fold(0.0, f64::max));
    tops.sum::<f64>() / probabilities.nrows() as f64
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::seed::{Purpose, stream};

    /// Rows of ten classes that are right as often as they claim; every fifth one less often.
    fn held_out(rows: usize, seed: u64) -> (Array2<f64>, Vec<f64>, Vec<usize>) {
        let mut rng = stream(seed, Purpose::MonteCarlo, 0);
        let top = |row: usize| if row.is_multiple_of(5) { 0.6 } else { 0.97 };
        let probabilities = Array2::from_shape_fn((rows, 10), |(row, k)| match k {
            0 => top(row),
            _ => (1.0 - top(row)) / 9.0,
        });
        let labels = (0..rows).map(|row| usize::from(rng.random::<f64>() > top(row))).collect();
        let surprises = (0..rows).map(|_| -rng.random::<f64>().ln()).collect();
        (probabilities, surprises, labels)
    }

    #[test]
    fn inside_nothing_changes_that_could_be_told_from_chance() {
        for (seed, rows) in [(1, 100), (2, 1000), (3, 4000)] {
            let (probabilities, surprises, labels) = held_out(rows, seed);
            let chosen = Minimax::choose(probabilities.view(), &surprises, &labels).unwrap();
            let (fresh, other, truth) = held_out(20_000, 10 + seed);
            let mixed = chosen.mix(fresh.view(), &other).unwrap();
            let rise = nll(mixed.view(), &truth).unwrap() - nll(fresh.view(), &truth).unwrap();
            let lost = confidence(fresh.view()) - confidence(mixed.view());
            // The accuracy is 0.896; a fifth more for the difference between two sets of rows.
            let error = (0.896f64 * 0.104 / rows as f64).sqrt();
            assert!(lost <= 1.2 * error && lost >= 0.5 * error, "{rows}: {lost} of {error}");
            assert!(rise <= 4.0 * error, "{rows}: {rise}");
            assert!(chosen.in_domain(30.0) < 1e-3, "{chosen:?}");
        }
    }

    #[test]
    fn more_rows_allow_less() {
        let odds = |rows| {
            let (probabilities, surprises, labels) = held_out(rows, 4);
            Minimax::choose(probabilities.view(), &surprises, &labels).unwrap().odds
        };
        assert!(odds(100) > odds(1000) && odds(1000) > odds(10_000));
    }

    #[test]
    fn the_most_probable_class_stays_and_what_is_no_number_is_outside() {
        let minimax = Minimax { odds: 1e-3 };
        let probabilities = ndarray::array![[0.2, 0.5, 0.3], [0.2, 0.5, 0.3], [0.2, 0.5, 0.3]];
        let mixed = minimax.mix(probabilities.view(), &[0.0, f64::INFINITY, f64::NAN]).unwrap();
        for row in mixed.axis_iter(Axis(0)) {
            assert!(row[1] > row[2] && row[2] > row[0], "{row}");
        }
        assert!(mixed[[0, 1]] > 0.499 && mixed[[1, 1]] < 0.334 && mixed[[2, 1]] < 0.334);
        for odds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Minimax { odds }.check().is_err());
        }
    }
}
