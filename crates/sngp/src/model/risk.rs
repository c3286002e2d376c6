//! A decision rule with a guarantee on its errors.

use rand::seq::SliceRandom;
use statrs::function::beta::beta_reg;

use super::decision::{Decision, percent};
use crate::hash::sha256;
use crate::score::Score;
use crate::seed::{Purpose, stream};
use crate::{Error, Result};

/// One example in so many only helps to choose where the test starts, but at least so many do.
const PILOT: usize = 20;
const LEAST_PILOT: usize = 10;
/// A start that fails ends the search, so it is taken at a smaller coverage than the one that
/// should pass most easily: this share of it.
const CAUTION: f64 = 0.8;
/// Larger errors that are tried where one is not reachable, each so much larger.
const STEP: f64 = 1.05;
/// Fewer held-out examples than this show nothing.
const FEWEST: usize = 20;

/// What is known about one held-out example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The uncertainty of its prediction.
    pub uncertainty: f64,
    /// Whether the prediction was right.
    pub correct: bool,
}

impl Decision {
    /// The rule with the largest coverage whose error among accepted examples is at most
    /// `max_error`, with the given confidence, by held-out examples that are like those to come.
    ///
    /// A twentieth of the examples says where to start. On the rest, every threshold from there on
    /// is tested exactly (the number of errors among `n` accepted ones is binomial), in the order of
    /// its coverage, until one fails; the last one that passed is taken. All thresholds there are
    /// count as tested: between two examples nothing changes. So the first one with too large an
    /// error is the same whatever the examples are, and it passes with a probability of at most
    /// `1 - confidence`: the confidence holds for the rule as a whole (fixed-sequence testing), for
    /// any number of examples and whatever the score is worth. The order of the examples does not
    /// matter.
    ///
    /// ```
    /// use sngp::model::{Decision, Outcome};
    /// use sngp::score::{Score, Variance};
    ///
    /// // The most uncertain fifth is wrong half of the time, the others never.
    /// let outcome = |i: u32| Outcome { uncertainty: f64::from(i % 100), correct: i % 100 < 80 || i % 2 == 0 };
    /// let held_out: Vec<Outcome> = (0..2000).map(outcome).collect();
    /// let rule = Decision::with_error_at_most(0.02, 0.95, Score::from(Variance {}), &held_out)?;
    /// assert!((75.0..85.0).contains(&rule.threshold), "{}", rule.threshold);
    /// let error = Decision::with_error_at_most(1e-4, 0.95, Score::from(Variance {}), &held_out);
    /// assert!(error.unwrap_err().to_string().contains("not reachable with 2000 examples"));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn with_error_at_most(
        max_error: f64,
        confidence: f64,
        score: Score,
        held_out: &[Outcome],
    ) -> Result<Self> {
        for (what, value) in [("max_error", max_error), ("confidence", confidence)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(Error::config(what, value, "it must be in (0, 1)"));
            }
        }
        if held_out.len() < FEWEST {
            let message = format!(
                "{} examples are too few to bound an error; {FEWEST} are the least",
                held_out.len()
            );
            return Err(Error::Data(message));
        }
        if held_out.iter().any(|outcome| outcome.uncertainty.is_nan()) {
            return Err(Error::Data("an uncertainty is not a number".to_string()));
        }
        Self::search(max_error, confidence, &score, held_out)
            .ok_or_else(|| not_reachable(max_error, confidence, &score, held_out))
    }

    /// The rule itself, where there is one.
    fn search(
        max_error: f64,
        confidence: f64,
        score: &Score,
        held_out: &[Outcome],
    ) -> Option<Self> {
        let order = shuffled(held_out);
        let size = (order.len() / PILOT).max(LEAST_PILOT).min(order.len() / 2);
        let (pilot, test) = order.split_at(size);
        let (pilot, test) = (Curve::new(pilot), Curve::new(test));
        let level = 1.0 - confidence;
        let start = pilot.start(max_error, level, test.total())?;
        let threshold = test.last_passing(start, max_error, level)?;
        let (accepted, _) = test.at(threshold);
        let basis = format!(
            "at most {} % of the accepted examples are wrong, with {} % confidence, by {} held-out \
             examples, of which {:.1} % were accepted",
            percent(max_error),
            percent(confidence),
            held_out.len(),
            100.0 * accepted as f64 / test.total() as f64
        );
        Some(Self::at(threshold, score.clone(), basis))
    }
}

/// The examples in an order that depends on nothing but themselves: chance, but the same chance for
/// the same examples however they are listed.
fn shuffled(held_out: &[Outcome]) -> Vec<Outcome> {
    let mut order = held_out.to_vec();
    order.sort_by(|a, b| {
        a.uncertainty.total_cmp(&b.uncertainty).then_with(|| a.correct.cmp(&b.correct))
    });
    let bytes: Vec<u8> = order
        .iter()
        .flat_map(|outcome| [outcome.uncertainty.to_bits(), u64::from(outcome.correct)])
        .flat_map(u64::to_le_bytes)
        .collect();
    let seed = sha256(&bytes).bytes().take(16).fold(0, |seed: u64, digit| {
        (seed << 4) | u64::from((digit as char).to_digit(16).unwrap_or_default())
    });
    order.shuffle(&mut stream(seed, Purpose::Shuffle, held_out.len() as u64));
    order
}

/// Says what is reachable instead: the least error, of ever larger ones, that these examples do
/// show. It was looked for in the same examples, so it is a hint and no promise.
fn not_reachable(max_error: f64, confidence: f64, score: &Score, held_out: &[Outcome]) -> Error {
    let larger = (1..).map(|step| max_error * STEP.powi(step)).take_while(|&error| error < 1.0);
    let reachable = larger.map(|error| (error * 1e4).ceil() / 1e4).find(|&error| {
        error < 1.0 && Decision::search(error, confidence, score, held_out).is_some()
    });
    let best = match reachable {
        Some(error) => format!("{} % may be", percent(error)),
        None => "no error below 100 % is".to_string(),
    };
    Error::Data(format!(
        "an error of at most {} % with {} % confidence is not reachable with {} examples; {best}. \
         More held-out examples, or a larger error, may do",
        percent(max_error),
        percent(confidence),
        held_out.len(),
    ))
}

/// `P(Bin(n, p) <= errors)`: how likely so few errors are if their rate is `p`.
fn chance_of_so_few(errors: usize, n: usize, p: f64) -> f64 {
    match errors >= n {
        true => 1.0,
        false => beta_reg((n - errors) as f64, (errors + 1) as f64, 1.0 - p),
    }
}

/// Examples from the most certain one on, with the errors up to each.
struct Curve {
    uncertainties: Vec<f64>,
    errors: Vec<usize>,
}

impl Curve {
    fn new(outcomes: &[Outcome]) -> Self {
        let mut sorted = outcomes.to_vec();
        sorted.sort_by(|a, b| a.uncertainty.total_cmp(&b.uncertainty));
        let mut errors = 0;
        let running = sorted.iter().map(|outcome| {
            errors += usize::from(!outcome.correct);
            errors
        });
        let errors = running.collect();
        Self { uncertainties: sorted.iter().map(|outcome| outcome.uncertainty).collect(), errors }
    }

    fn total(&self) -> usize {
        self.uncertainties.len()
    }

    /// How many are accepted at a threshold, and how many of those are wrong.
    fn at(&self, threshold: f64) -> (usize, usize) {
        let accepted = self.uncertainties.partition_point(|&u| u <= threshold);
        (accepted, accepted.checked_sub(1).map_or(0, |last| self.errors[last]))
    }

    /// The largest threshold up to which all of them, from `start` on, pass their test.
    fn last_passing(&self, start: f64, max_error: f64, level: f64) -> Option<f64> {
        let passes = |&threshold: &f64| {
            let (accepted, errors) = self.at(threshold);
            chance_of_so_few(errors, accepted, max_error) <= level
        };
        let (first, _) = self.at(start);
        // What is infinitely uncertain is rejected by another rule already.
        let later = self.uncertainties[first..].iter().copied().filter(|u| u.is_finite());
        std::iter::once(start).chain(later).take_while(passes).last()
    }

    /// A threshold that should pass on `rows` other examples.
    fn start(&self, max_error: f64, level: f64, rows: usize) -> Option<f64> {
        let mut thresholds = self.uncertainties.clone();
        thresholds.dedup();
        thresholds.retain(|threshold| threshold.is_finite());
        let share = rows as f64 / self.total() as f64;
        let expected_chance = |&threshold: &f64| {
            let (accepted, errors) = self.at(threshold);
            // Half an error more than was seen: none among few is no proof of none among many.
            let expected = ((errors as f64 + 0.5) * share).round() as usize;
            chance_of_so_few(expected, (accepted as f64 * share).round() as usize, max_error)
        };
        let chances: Vec<f64> = thresholds.iter().map(expected_chance).collect();
        let easiest = (0..chances.len()).min_by(|&a, &b| chances[a].total_cmp(&chances[b]))?;
        // The smaller coverage has to be large enough to pass even with a few errors.
        let passable = |index: usize| {
            let (accepted, _) = self.at(thresholds[index]);
            let accepted = (accepted as f64 * share).round() as usize;
            chance_of_so_few(0, accepted, max_error) <= 0.1 * level
        };
        let cautious = (CAUTION * easiest as f64) as usize;
        let start = (cautious..easiest).find(|&index| passable(index));
        Some(thresholds[start.unwrap_or(easiest)])
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::score::Variance;

    #[test]
    fn chances_are_those_of_the_binomial_distribution() {
        // 0.9^20 and 0.9^20 + 20 * 0.1 * 0.9^19.
        assert!((chance_of_so_few(0, 20, 0.1) - 0.9f64.powi(20)).abs() < 1e-12);
        let two = 0.9f64.powi(20) + 2.0 * 0.9f64.powi(19);
        assert!((chance_of_so_few(1, 20, 0.1) - two).abs() < 1e-12);
        assert_eq!(chance_of_so_few(3, 3, 0.1), 1.0);
        assert_eq!(chance_of_so_few(0, 0, 0.1), 1.0);
    }

    /// Errors happen with probability `u^2 / 2`, `u` uniform: accepting `u <= t` costs `t^2 / 6`.
    fn draw(seed: u64, rows: usize) -> Vec<Outcome> {
        let mut rng = stream(seed, Purpose::MonteCarlo, 0);
        let mut outcome = || {
            let uncertainty: f64 = rng.random();
            Outcome { uncertainty, correct: rng.random::<f64>() > uncertainty.powi(2) / 2.0 }
        };
        (0..rows).map(|_| outcome()).collect()
    }

    #[test]
    fn the_promise_is_kept_and_little_coverage_lost() {
        let (max_error, trials) = (0.05f64, 400);
        let best = (6.0 * max_error).sqrt();
        let mut violated = 0;
        let mut coverage = 0.0;
        for seed in 0..trials {
            let held_out = draw(seed, 2000);
            let score = Score::from(Variance {});
            // A rule that is not found breaks no promise, and accepts nothing.
            let rule = Decision::with_error_at_most(max_error, 0.9, score, &held_out);
            let threshold = rule.map_or(0.0, |rule| rule.threshold);
            violated += usize::from(threshold.powi(2) / 6.0 > max_error);
            coverage += threshold / trials as f64;
        }
        // 10 % are promised; 3 standard errors of 400 trials are 4.5 %.
        assert!(violated as f64 / trials as f64 <= 0.145, "{violated} of {trials}");
        // With 900 accepted ones the test itself needs the error 1.3 standard deviations below the
        // limit, which is at a coverage of 0.49.
        assert!(best - coverage < 0.08, "{coverage} of {best}");
    }

    #[test]
    fn what_cannot_be_promised_is_said() {
        let score = || Score::from(Variance {});
        let rule = |rows: &[Outcome], max_error| {
            Decision::with_error_at_most(max_error, 0.95, score(), rows).unwrap_err().to_string()
        };
        assert!(rule(&draw(1, 10), 0.1).contains("10 examples are too few"));
        let message = rule(&draw(1, 100), 0.001);
        assert!(message.contains("not reachable with 100 examples; "), "{message}");
        assert!(rule(&draw(1, 100), 0.0).contains("max_error"));
        let wrong = [Outcome { uncertainty: 1.0, correct: false }; 50];
        assert!(rule(&wrong, 0.5).contains("not reachable"));
        let odd = [Outcome { uncertainty: f64::NAN, correct: true }; 50];
        assert!(rule(&odd, 0.5).contains("not a number"));
    }

    #[test]
    fn the_order_of_the_examples_does_not_matter() {
        let mut held_out = draw(3, 1000);
        let rule = |rows: &[Outcome]| {
            Decision::with_error_at_most(0.05, 0.9, Score::from(Variance {}), rows).unwrap()
        };
        let first = rule(&held_out);
        held_out.reverse();
        assert_eq!(rule(&held_out), first);
        held_out.sort_by_key(|outcome| outcome.correct);
        assert_eq!(rule(&held_out), first);
    }

    /// Right at both ends and wrong in the middle: a score whose risk is above the limit, below it
    /// and above it again. The promise holds for that one too.
    #[test]
    fn a_score_that_is_not_monotone_breaks_no_promise() {
        let chance_of_error = |u: f64| match u {
            u if u < 0.1 => 0.2,
            u if u < 0.7 => 0.01,
            _ => 0.3,
        };
        // The mass of errors up to a threshold, by it.
        let risk = |t: f64| {
            let parts = [(0.0, 0.1, 0.2), (0.1, 0.7, 0.01), (0.7, 1.0, 0.3)];
            let mass = parts.iter().map(|(low, high, p)| p * (t.clamp(*low, *high) - low));
            mass.sum::<f64>() / t
        };
        let mut violated = 0;
        for seed in 0..400 {
            let mut rng = stream(seed, Purpose::MonteCarlo, 1);
            let mut outcome = || {
                let uncertainty: f64 = rng.random();
                let correct = rng.random::<f64>() > chance_of_error(uncertainty);
                Outcome { uncertainty, correct }
            };
            let held_out: Vec<Outcome> = (0..1000).map(|_| outcome()).collect();
            let score = Score::from(Variance {});
            let rule = Decision::with_error_at_most(0.05, 0.9, score, &held_out);
            violated += usize::from(rule.is_ok_and(|rule| risk(rule.threshold) > 0.05));
        }
        assert!(violated <= 58, "{violated} of 400 where 40 are promised");
    }

    #[test]
    fn without_errors_everything_is_accepted() {
        let held_out: Vec<Outcome> =
            (0..1000).map(|i| Outcome { uncertainty: f64::from(i), correct: true }).collect();
        let score = Score::from(Variance {});
        let rule = Decision::with_error_at_most(0.02, 0.95, score, &held_out).unwrap();
        assert!(rule.threshold > 950.0, "{}", rule.threshold);
    }
}
