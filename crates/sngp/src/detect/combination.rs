//! Several scores in one.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::Reference;
use crate::predict::{Minimax, Prediction};
use crate::score::{
    Entropy, Knn, Mahalanobis, MaxProbability, RelativeMahalanobis, Score, Variance,
};
use crate::{Error, Result};

/// Below so many held-out examples the same ones serve the parts and the whole.
const ENOUGH: usize = 400;

/// What a score sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// That the outcome is uncertain.
    Ambiguity,
    /// That the input is unlike the training data.
    Distance,
}

/// A score and what it is usually like.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The score.
    pub score: Score,
    /// What it sees.
    pub sense: Sense,
    /// How much it counts.
    pub weight: f64,
    /// Its values on held-out examples.
    pub usual: Reference,
}

/// The sum of `-ln p` over scores that see different things, each with its p-value among held-out
/// examples (Fisher's method): how ambiguous, how far from the data, and how far for its class.
/// The three count alike; two scores of the same thing share its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    parts: Vec<Part>,
    usual: Reference,
    rows: HeldOutRows,
    minimax: Option<Minimax>,
}

/// Which held-out examples tell what the parts of a [`Combination`] and the whole are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldOutRows {
    /// The same ones both: p-values of the whole are close to exact, and no more.
    #[default]
    Shared,
    /// Every second one the parts, the others the whole, whose p-values are then exact.
    Split,
}

impl HeldOutRows {
    fn of(rows: usize) -> Self {
        if rows >= ENOUGH { Self::Split } else { Self::Shared }
    }

    fn tells_parts(self, row: usize) -> bool {
        self == Self::Shared || row.is_multiple_of(2)
    }

    fn tells_whole(self, row: usize) -> bool {
        self == Self::Shared || !row.is_multiple_of(2)
    }
}

impl Combination {
    /// What is combined of the scores that a model has.
    fn scores(prediction: &Prediction) -> Vec<(Score, Sense, f64)> {
        use Sense::{Ambiguity, Distance};
        let has = |part: &(Score, Sense, f64)| part.0.evaluate(prediction).is_ok();
        let mut parts: Vec<(Score, Sense, f64)> = vec![
            (Entropy {}.into(), Ambiguity, 0.5),
            (MaxProbability {}.into(), Ambiguity, 0.5),
            (Knn {}.into(), Distance, 0.5),
            (Mahalanobis {}.into(), Distance, 0.5),
            (RelativeMahalanobis {}.into(), Distance, 1.0),
        ];
        parts.retain(has);
        if !parts.iter().any(|(_, sense, _)| *sense == Distance) {
            // Without detectors, the variance is what knows of distance.
            parts.extend(Some((Variance {}.into(), Distance, 1.0)).filter(has));
        }
        parts
    }

    /// The combination by what held-out examples are like. Where there are many, every second one
    /// tells what its parts are like and the others what the whole is like, so that its p-values
    /// are exact; where there are few, all serve both.
    pub fn of(prediction: &Prediction) -> Result<Self> {
        let scores = Self::scores(prediction);
        if scores.is_empty() {
            return Err(Error::Unsupported("there is no score to combine".to_string()));
        }
        let rows = HeldOutRows::of(prediction.rows());
        let pick = |values: &[f64], keep: &dyn Fn(usize) -> bool| -> Vec<f64> {
            (0..values.len()).filter(|row| keep(*row)).map(|row| values[row]).collect()
        };
        let parts = scores.into_iter().map(|(score, sense, weight)| {
            let values = score.evaluate(prediction)?;
            let usual = Reference::new(pick(&values, &|row| rows.tells_parts(row)))?;
            Ok(Part { score, sense, weight, usual })
        });
        let parts: Vec<Part> = parts.collect::<Result<_>>()?;
        let whole = sum(&surprises(&parts, prediction)?);
        let usual = Reference::new(pick(&whole, &|row| rows.tells_whole(row)))?;
        Self::from_parts(parts, usual, rows)
    }

    /// A combination that was saved.
    pub fn from_parts(parts: Vec<Part>, usual: Reference, rows: HeldOutRows) -> Result<Self> {
        let combined = |part: &Part| matches!(part.score, Score::Combined(_));
        let counts = |part: &Part| part.weight > 0.0 && part.weight.is_finite();
        if parts.is_empty() || parts.iter().any(combined) || !parts.iter().all(counts) {
            return Err(Error::Data("a combination needs scores of other kinds".to_string()));
        }
        Ok(Self { parts, usual, rows, minimax: None })
    }

    /// Its parts.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Its own values on held-out examples.
    pub fn usual(&self) -> &Reference {
        &self.usual
    }

    /// Which held-out examples tell what it is like.
    pub fn rows(&self) -> HeldOutRows {
        self.rows
    }

    /// The same combination where nobody can say any more that its p-values are exact.
    pub fn with_shared_rows(self) -> Self {
        Self { rows: HeldOutRows::Shared, ..self }
    }

    /// How the probabilities of rows that are unlike the held-out examples are said, where that is
    /// not as they are.
    pub fn minimax(&self) -> Option<Minimax> {
        self.minimax
    }

    /// The same combination with another way to say probabilities.
    pub fn with_minimax(self, minimax: Option<Minimax>) -> Self {
        Self { minimax, ..self }
    }

    /// What [`Minimax::choose`] finds for the held-out examples that it was made of, of those that
    /// tell what the whole is like.
    pub fn choose_minimax(&self, prediction: &Prediction, labels: &[usize]) -> Result<Minimax> {
        let (whole, probabilities) = (self.evaluate(prediction)?, prediction.probabilities()?);
        if labels.len() != whole.len() {
            return Err(Error::shape("labels", whole.len(), labels.len()));
        }
        let own = |row: &usize| self.rows.tells_whole(*row) && whole[*row].is_finite();
        let rows: Vec<usize> = (0..whole.len()).filter(own).collect();
        let whole: Vec<f64> = rows.iter().map(|&row| whole[row]).collect();
        let labels: Vec<usize> = rows.iter().map(|&row| labels[row]).collect();
        let probabilities = probabilities.select(Axis(0), &rows);
        Minimax::choose(probabilities.view(), &self.surprise(&whole), &labels)
    }

    /// `-ln p` of [its values](Self::evaluate) among those of the held-out examples.
    pub fn surprise(&self, values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| self.usual.surprise(*value)).collect()
    }

    /// `-ln p` of every row by every part, times its weight.
    pub fn surprises(&self, prediction: &Prediction) -> Result<Vec<Vec<f64>>> {
        surprises(&self.parts, prediction)
    }

    /// Which sense of every row is the most surprised.
    pub fn loudest(&self, prediction: &Prediction) -> Result<Vec<Sense>> {
        let surprises = self.surprises(prediction)?;
        let by = |sense: Sense, row: usize| -> f64 {
            let own = self.parts.iter().zip(&surprises).filter(|(part, _)| part.sense == sense);
            let (sum, weight) = own.fold((0.0, 0.0), |(sum, weight), (part, values)| {
                (sum + values[row], weight + part.weight)
            });
            if weight > 0.0 { sum / weight } else { 0.0 }
        };
        let loudest = |row: usize| match by(Sense::Ambiguity, row) > by(Sense::Distance, row) {
            true => Sense::Ambiguity,
            false => Sense::Distance,
        };
        Ok((0..prediction.rows()).map(loudest).collect())
    }

    /// The sum over the parts.
    pub fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        Ok(sum(&self.surprises(prediction)?))
    }
}

fn surprises(parts: &[Part], prediction: &Prediction) -> Result<Vec<Vec<f64>>> {
    let part = |part: &Part| -> Result<Vec<f64>> {
        let values = part.score.evaluate(prediction)?;
        Ok(values.into_iter().map(|value| part.weight * part.usual.surprise(value)).collect())
    };
    parts.iter().map(part).collect()
}

fn sum(parts: &[Vec<f64>]) -> Vec<f64> {
    let rows = parts.first().map_or(0, Vec::len);
    (0..rows).map(|row| parts.iter().map(|part| part[row]).sum()).collect()
}
