//! A decision rule whose errors are bounded on average.

use super::decision::{Decision, percent};
use super::risk::Outcome;
use crate::score::Score;
use crate::{Error, Result};

impl Decision {
    /// The rule with the largest coverage whose error is at most `max_error` on average over
    /// held-out sets, by held-out examples that are like those to come: conformal control of the
    /// selective risk.
    ///
    /// Of `n` examples `N(t)` are accepted at a threshold and `W(t)` of those wrong; the largest
    /// threshold with `(1 + W(t)) / (n + 1) <= max_error N(t) / n` is taken. Then, for any `n`
    /// and any score, the chance that a new example is accepted and wrong, divided by the share
    /// of the held-out examples that is accepted, is at most `max_error` on average: the share of
    /// wrong ones up to `t`, divided by `1 + W(t)`, is a supermartingale as `t` falls (the proof of
    /// Barber and Candes 2015, of Jin and Candes 2023 for predictions). Beside
    /// [`with_error_at_most`](Self::with_error_at_most) it accepts more and promises less: every
    /// second set may be above.
    ///
    /// ```
    /// use sngp::model::{Decision, Outcome};
    /// use sngp::score::{Score, Variance};
    ///
    /// // The most uncertain fifth is wrong half of the time, the others never.
    /// let outcome = |i: u32| Outcome { uncertainty: f64::from(i % 100), correct: i % 100 < 80 || i % 2 == 0 };
    /// let held_out: Vec<Outcome> = (0..2000).map(outcome).collect();
    /// let score = || Score::from(Variance {});
    /// let mean = Decision::with_mean_error_at_most(0.05, score(), &held_out)?;
    /// let sure = Decision::with_error_at_most(0.05, 0.95, score(), &held_out)?;
    /// assert!(mean.threshold > sure.threshold);
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn with_mean_error_at_most(
        max_error: f64,
        score: Score,
        held_out: &[Outcome],
    ) -> Result<Self> {
        if !(max_error > 0.0 && max_error < 1.0) {
            return Err(Error::config("max_error", max_error, "it must be in (0, 1)"));
        }
        if held_out.iter().any(|outcome| outcome.uncertainty.is_nan()) {
            return Err(Error::Data("an uncertainty is not a number".to_string()));
        }
        let mut sorted = held_out.to_vec();
        sorted.sort_by(|a, b| a.uncertainty.total_cmp(&b.uncertainty));
        let rows = sorted.len() as f64;
        let (mut wrong, mut best) = (0.0, None);
        for (index, outcome) in sorted.iter().enumerate() {
            wrong += f64::from(u8::from(!outcome.correct));
            let next = sorted.get(index + 1).map(|next| next.uncertainty);
            // Equal ones are accepted together, and what is infinitely uncertain never is.
            if next == Some(outcome.uncertainty) || outcome.uncertainty == f64::INFINITY {
                continue;
            }
            let accepted = (index + 1) as f64;
            if (1.0 + wrong) * rows <= max_error * accepted * (rows + 1.0) {
                best = Some((outcome.uncertainty, accepted / rows));
            }
        }
        let Some((threshold, share)) = best else {
            return Err(Error::Data(format!(
                "an error of at most {} % on average is not reachable with {rows} examples. More \
                 held-out examples, or a larger error, may do",
                percent(max_error),
            )));
        };
        let basis = format!(
            "on average over held-out sets at most {} % of the accepted examples are wrong (as a \
             share of the {:.1} % of {rows} held-out examples that were accepted)",
            percent(max_error),
            100.0 * share
        );
        Ok(Self::at(threshold, score, basis))
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::score::Variance;
    use crate::seed::{Purpose, stream};

    fn rule(max_error: f64, held_out: &[Outcome]) -> Result<Decision> {
        Decision::with_mean_error_at_most(max_error, Score::from(Variance {}), held_out)
    }

    /// Errors by the uncertainty `u`, uniform in [0, 1], and their mass up to a threshold.
    type Errors = (fn(f64) -> f64, fn(f64) -> f64);

    fn steps(t: f64) -> f64 {
        let parts = [(0.0, 0.1, 0.2), (0.1, 0.7, 0.01), (0.7, 1.0, 0.3)];
        parts.iter().map(|(low, high, p)| p * (t.clamp(*low, *high) - low)).sum()
    }

    fn draw(rows: usize, seed: u64, chance: fn(f64) -> f64) -> Vec<Outcome> {
        let mut rng = stream(seed, Purpose::MonteCarlo, 2);
        let mut outcome = || {
            let uncertainty: f64 = rng.random();
            Outcome { uncertainty, correct: rng.random::<f64>() >= chance(uncertainty) }
        };
        (0..rows).map(|_| outcome()).collect()
    }

    /// Over many held-out sets of several sizes, for a score that ranks errors, one that knows
    /// nothing of them and one that is not monotone in them.
    #[test]
    fn the_average_is_kept_for_any_size_and_score() {
        let scores: [Errors; 3] = [
            (|u| u * u / 2.0, |t| t.powi(3) / 6.0),
            (|_| 0.06, |t| 0.06 * t),
            (
                |u| {
                    if u < 0.1 {
                        0.2
                    } else if u < 0.7 {
                        0.01
                    } else {
                        0.3
                    }
                },
                steps,
            ),
        ];
        for (index, (chance, mass)) in scores.into_iter().enumerate() {
            for (rows, sets) in [(60, 4000), (500, 2000)] {
                let shares: Vec<f64> = (0..sets)
                    .map(|seed| {
                        let held_out = draw(rows, seed, chance);
                        // A rule that is not found accepts nothing.
                        rule(0.05, &held_out).map_or(0.0, |rule| {
                            let kept = held_out.iter().filter(|o| rule.accepts(o.uncertainty));
                            mass(rule.threshold) * rows as f64 / kept.count() as f64
                        })
                    })
                    .collect();
                let mean = shares.iter().sum::<f64>() / sets as f64;
                let spread = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>();
                let error = spread.sqrt() / sets as f64;
                assert!(mean <= 0.05 + 3.0 * error, "{index}, {rows}: {mean} +- {error}");
            }
        }
    }

    #[test]
    fn little_coverage_is_lost() {
        // Accepting `u <= t` costs `t^2 / 6`: 5 % at the best coverage of 0.548.
        let coverage = |seed| rule(0.05, &draw(2000, seed, |u| u * u / 2.0)).unwrap().threshold;
        let mean = (0..100).map(coverage).sum::<f64>() / 100.0;
        assert!((0.50..=0.56).contains(&mean), "{mean}");
    }

    #[test]
    fn what_cannot_be_promised_is_said() {
        let right = Outcome { uncertainty: 1.0, correct: true };
        // One of n + 1 may always be wrong: 19 right ones of 19 are 5 %, 18 are not.
        assert_eq!(rule(0.05, &[right; 19]).unwrap().threshold, 1.0);
        let message = rule(0.05, &[right; 18]).unwrap_err().to_string();
        assert!(message.contains("5 % on average is not reachable with 18 examples"), "{message}");
        assert!(rule(0.05, &[]).is_err());
        assert!(rule(0.0, &[right; 50]).unwrap_err().to_string().contains("max_error"));
        let odd = Outcome { uncertainty: f64::NAN, correct: true };
        assert!(rule(0.5, &[odd; 50]).unwrap_err().to_string().contains("not a number"));
        let rejected = Outcome { uncertainty: f64::INFINITY, correct: true };
        assert!(rule(0.05, &[rejected; 50]).is_err());
        // Equal ones are accepted together or not at all.
        let mut tied = vec![right; 40];
        tied.extend([Outcome { uncertainty: 2.0, correct: true }; 10]);
        tied.extend([Outcome { uncertainty: 2.0, correct: false }; 10]);
        assert_eq!(rule(0.05, &tied).unwrap().threshold, 1.0);
    }
}
