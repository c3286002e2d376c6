//! What a decision is chosen for, and the rule that serves it.

use serde::{Deserialize, Serialize};
use sngp::model::{Decision, Outcome, percent};
use sngp::score::Score;
use sngp::{Error, Result};

/// What a decision is chosen for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Aim {
    /// To reject few examples like the held-out ones.
    Abstention {
        /// The share that is rejected at most.
        share: f64,
        /// The score.
        score: Score,
    },
    /// To be wrong on few of those that are accepted.
    Error {
        /// The share that is wrong at most.
        max_error: f64,
        /// How certain that is.
        confidence: f64,
        /// The score.
        score: Score,
    },
    /// The same on average over held-out sets.
    MeanError {
        /// The share that is wrong at most.
        max_error: f64,
        /// The score.
        score: Score,
    },
    /// A threshold that somebody chose.
    Threshold {
        /// The largest uncertainty that is accepted.
        threshold: f64,
        /// The score.
        score: Score,
    },
    /// One of the others for the answers of each class by itself.
    PerClass {
        /// Which one.
        aim: Box<Aim>,
    },
}

impl Aim {
    /// The score to decide by.
    pub fn score(&self) -> &Score {
        match self {
            Self::Abstention { score, .. }
            | Self::Error { score, .. }
            | Self::MeanError { score, .. }
            | Self::Threshold { score, .. } => score,
            Self::PerClass { aim } => aim.score(),
        }
    }

    /// Whether it takes labels to know what serves it.
    pub(crate) fn needs_labels(&self) -> bool {
        match self {
            Self::Error { .. } | Self::MeanError { .. } => true,
            Self::Abstention { .. } | Self::Threshold { .. } => false,
            Self::PerClass { aim } => aim.needs_labels(),
        }
    }

    /// The rule that serves it, by held-out examples: `predicted` are the classes they are taken
    /// for, of so many.
    pub(crate) fn decision(
        &self,
        held_out: &[Outcome],
        predicted: &[usize],
        classes: usize,
    ) -> Result<Decision> {
        match self {
            Self::Abstention { share, score } => {
                let scores: Vec<f64> = held_out.iter().map(|one| one.uncertainty).collect();
                Decision::rejecting_at_most(*share, score.clone(), &scores)
            }
            Self::Error { max_error, confidence, score } => {
                Decision::with_error_at_most(*max_error, *confidence, score.clone(), held_out)
            }
            Self::MeanError { max_error, score } => {
                Decision::with_mean_error_at_most(*max_error, score.clone(), held_out)
            }
            Self::Threshold { threshold, score } => by_hand(*threshold, score, held_out),
            Self::PerClass { aim } => aim.of_each_class(held_out, predicted, classes),
        }
    }

    /// A threshold for each class that is predicted. Classes with too few examples for one of
    /// their own share one; which these are depends on nothing but how many each has.
    fn of_each_class(
        &self,
        held_out: &[Outcome],
        predicted: &[usize],
        classes: usize,
    ) -> Result<Decision> {
        let fewest = self.fewest()?;
        let mut own: Vec<Vec<Outcome>> = vec![Vec::new(); classes];
        // To reject few is a matter of those that no other rule rejects.
        let counts = |one: &Outcome| self.needs_labels() || one.uncertainty < f64::INFINITY;
        let rows = predicted.iter().zip(held_out).filter(|(_, one)| counts(one));
        rows.for_each(|(&class, one)| own[class].push(*one));
        let is_small = |rows: &Vec<Outcome>| rows.len() < fewest;
        let shared: Vec<Outcome> =
            own.iter().filter(|rows| is_small(rows)).flatten().copied().collect();
        let few = own.iter().filter(|rows| is_small(rows)).count();
        if few == classes {
            return Err(Error::Data(format!(
                "no class has {fewest} of the {} examples, which a threshold of its own takes; more \
                 held-out ones, or one threshold for all classes, may do",
                held_out.len()
            )));
        }
        // A promise that cannot be made of a class is not made: nothing is answered as it.
        let threshold = |rows: &[Outcome]| match self.decision(rows, &[], 0) {
            Ok(rule) => Ok(Some(rule.threshold)),
            Err(Error::Data(_)) => Ok(None),
            Err(error) => Err(error),
        };
        let of_shared = if few > 0 { threshold(&shared)? } else { None };
        let of_class = |rows: &Vec<Outcome>| {
            if is_small(rows) { Ok(of_shared) } else { threshold(rows) }
        };
        let by_class: Vec<Option<f64>> = own.iter().map(of_class).collect::<Result<_>>()?;
        let Some(largest) = by_class.iter().flatten().copied().reduce(f64::max) else {
            return Err(Error::Data(format!(
                "of no class {} examples are enough; more held-out ones, or one threshold for all \
                 classes, may do",
                held_out.len()
            )));
        };
        let silent = by_class.iter().filter(|threshold| threshold.is_none()).count();
        let basis = self.words(held_out.len(), classes - few, few, silent);
        let score = self.score().clone();
        Ok(Decision { by_class, ..Decision::at(largest, score, basis) })
    }

    /// Fewer examples than this show nothing, whatever they are like.
    fn fewest(&self) -> Result<usize> {
        Ok(match self {
            Self::Abstention { share: limit, .. } | Self::MeanError { max_error: limit, .. } => {
                (1.0 / limit).ceil() as usize
            }
            Self::Error { max_error, confidence, .. } => {
                // So many right ones in a row, after those that say where to start.
                let right = (1.0 - confidence).ln() / (1.0 - max_error).ln();
                (1.1 * right + 20.0).ceil() as usize
            }
            Self::Threshold { .. } | Self::PerClass { .. } => {
                let message = "a threshold set by hand is one for all classes";
                return Err(Error::Unsupported(message.to_string()));
            }
        })
    }

    /// What holds of each class, in words.
    fn words(&self, rows: usize, own: usize, shared: usize, silent: usize) -> String {
        let each = match shared {
            0 => "any one class".to_string(),
            _ => format!(
                "any one of {own} classes, and of the {shared} with too few examples for a threshold \
                 of their own together,"
            ),
        };
        let mut text = match self {
            Self::Abstention { share, .. } => format!(
                "of the examples taken for {each} that no other rule rejects, on average at most {} % \
                 are rejected",
                percent(*share)
            ),
            Self::MeanError { max_error, .. } => format!(
                "of the accepted answers of {each} on average over held-out sets at most {} % are \
                 wrong",
                percent(*max_error)
            ),
            Self::Error { max_error, confidence, .. } => format!(
                "of the accepted answers of {each} at most {} % are wrong, each with {} % confidence \
                 by itself",
                percent(*max_error),
                percent(*confidence)
            ),
            Self::Threshold { .. } | Self::PerClass { .. } => String::new(),
        };
        text += &format!(", by {rows} held-out examples");
        if silent > 0 {
            text += &format!("; classes that nothing is answered as, for want of proof: {silent}");
        }
        text
    }
}

fn by_hand(threshold: f64, score: &Score, held_out: &[Outcome]) -> Result<Decision> {
    if !threshold.is_finite() {
        return Err(Error::config("the threshold", threshold, "it must be a finite number"));
    }
    let accepted = held_out.iter().filter(|one| one.uncertainty <= threshold).count();
    let rows = held_out.len();
    let basis =
        format!("a threshold that was set by hand; it accepts {accepted} of {rows} examples");
    Ok(Decision::at(threshold, score.clone(), basis))
}

#[cfg(test)]
mod tests {
    use sngp::score::Variance;

    use super::*;

    fn outcome(uncertainty: f64, correct: bool) -> Outcome {
        Outcome { uncertainty, correct }
    }

    /// Class 0 is usually more certain than class 1; class 2 is hardly ever predicted.
    fn held_out() -> (Vec<Outcome>, Vec<usize>) {
        let rows = (0..199).map(|i| (outcome(f64::from(i), true), 0));
        let more = (0..199).map(|i| (outcome(1000.0 + f64::from(i), i % 2 == 0), 1));
        let few = (0..5).map(|i| (outcome(f64::from(i), true), 2));
        rows.chain(more).chain(few).unzip()
    }

    #[test]
    fn each_class_has_a_threshold_of_its_own() {
        let (rows, classes) = held_out();
        let aim = Aim::Abstention { share: 0.05, score: Variance {}.into() };
        let rule = Aim::PerClass { aim: Box::new(aim) }.decision(&rows, &classes, 3).unwrap();
        assert_eq!(rule.by_class[..2], [Some(189.0), Some(1189.0)]);
        assert_eq!(rule.threshold, 1189.0);
        assert!(rule.accepts_as(189.0, 0) && !rule.accepts_as(190.0, 0));
        assert!(rule.accepts_as(1000.0, 1) && !rule.accepts_as(1190.0, 1));
        // Five rows cannot promise a twentieth, so nothing is answered as the third class.
        assert!(rule.by_class[2].is_none() && !rule.accepts_as(0.0, 2));
        assert!(!rule.accepts_as(0.0, 7));
        assert!(rule.basis.ends_with("for want of proof: 1"), "{}", rule.basis);
    }

    #[test]
    fn errors_are_bounded_for_each_class_or_nothing_is_answered_as_it() {
        let (rows, classes) = held_out();
        let score = || Score::from(Variance {});
        let mean = Aim::MeanError { max_error: 0.05, score: score() };
        let sure = Aim::Error { max_error: 0.05, confidence: 0.9, score: score() };
        for aim in [mean, sure] {
            let rule = Aim::PerClass { aim: Box::new(aim) }.decision(&rows, &classes, 3).unwrap();
            assert!(rule.by_class[0].is_some_and(|limit| limit > 180.0), "{rule:?}");
            assert_eq!(rule.by_class[1..], [None, None]);
        }
    }

    #[test]
    fn classes_with_few_examples_share_a_threshold() {
        let aim = Aim::Abstention { share: 0.1, score: Variance {}.into() };
        let rows: Vec<Outcome> = (0..60).map(|i| outcome(f64::from(i), true)).collect();
        // Two classes of 25, and two of five.
        let classes: Vec<usize> = (0..60).map(|i| if i < 50 { i % 2 } else { 2 + i % 2 }).collect();
        let rule = Aim::PerClass { aim: Box::new(aim) }.decision(&rows, &classes, 4).unwrap();
        assert_eq!(rule.by_class, [Some(46.0), Some(47.0), Some(59.0), Some(59.0)]);
        let said = "any one of 2 classes, and of the 2 with too few examples";
        assert!(rule.basis.contains(said), "{}", rule.basis);
    }

    #[test]
    fn without_a_class_that_has_enough_nothing_is_promised_of_each() {
        let aim = Aim::Abstention { share: 0.1, score: Variance {}.into() };
        let rows: Vec<Outcome> = (0..15).map(|i| outcome(f64::from(i), true)).collect();
        let classes: Vec<usize> = (0..15).map(|i| i % 3).collect();
        let error = Aim::PerClass { aim: Box::new(aim) }.decision(&rows, &classes, 3).unwrap_err();
        assert!(error.to_string().contains("no class has 10 of the 15 examples"), "{error}");
    }

    #[test]
    fn nothing_is_promised_of_a_threshold_by_hand() {
        let (rows, classes) = held_out();
        let aim = Aim::Threshold { threshold: 1.0, score: Variance {}.into() };
        assert!(Aim::PerClass { aim: Box::new(aim) }.decision(&rows, &classes, 3).is_err());
    }
}
