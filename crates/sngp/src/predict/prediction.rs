//! What a model says about a set of inputs.

use std::sync::Arc;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, CowArray, Ix2, concatenate};

use super::integration::adjusted_logits;
use crate::detect::{Combination, Detectors};
use crate::{Error, Result};

/// The predictive distribution of the outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Predictive {
    /// Class probabilities `[rows, classes]`.
    Classes(Array2<f64>),
    /// A normal distribution a row.
    Normal {
        /// Its means.
        mean: Vec<f64>,
        /// Its variances, noise included.
        variance: Vec<f64>,
    },
    /// The mean rate of a count.
    Rate(Vec<f64>),
}

/// A prediction: the outcome's distribution and what it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The outcome.
    pub predictive: Predictive,
    /// Mean logits `[rows, outputs]`; over several passes or members, their average.
    pub logits: Array2<f64>,
    /// Variance of the logits `[rows, outputs or 1]`, for Gaussian-process heads.
    pub variance: Option<Array2<f64>>,
    /// The mean-field factor for adjusted logits.
    pub mean_field_factor: f64,
    /// Hidden vectors `[rows, width]` of the first network, for detectors.
    pub hidden: Option<Array2<f32>>,
    /// What was fitted to the hidden vectors of the training examples.
    pub detectors: Option<Arc<Detectors>>,
    /// What its scores are like on held-out examples.
    pub combination: Option<Arc<Combination>>,
}

impl Prediction {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.logits.nrows()
    }

    /// Class probabilities, or an error that says what the model predicts instead.
    pub fn probabilities(&self) -> Result<ArrayView2<'_, f64>> {
        match &self.predictive {
            Predictive::Classes(probabilities) => Ok(probabilities.view()),
            Predictive::Normal { .. } | Predictive::Rate(_) => {
                Err(Error::Unsupported("this model predicts numbers, not classes".to_string()))
            }
        }
    }

    /// The probabilities that are said. They are the model's own, or, where it was told to mix
    /// them with the uniform distribution out of domain, what [`Minimax`](super::Minimax) makes of
    /// those. Scores and the most probable class always go by the model's own.
    pub fn stated_probabilities(&self) -> Result<CowArray<'_, f64, Ix2>> {
        let own = self.probabilities()?;
        match self.combination.as_ref().and_then(|told| Some((told, told.minimax()?))) {
            Some((told, minimax)) => {
                Ok(minimax.mix(own, &told.surprise(&told.evaluate(self)?))?.into())
            }
            None => Ok(own.into()),
        }
    }

    /// The fitted detectors, and the hidden vectors as they see them.
    pub fn detection(&self) -> Result<(&Detectors, Array2<f32>)> {
        match (&self.detectors, &self.hidden) {
            (Some(detectors), Some(hidden)) => {
                Ok((detectors, detectors.geometry().view(hidden.view())))
            }
            _ => {
                let message = "this model has no detectors fitted to its hidden vectors";
                Err(Error::Unsupported(message.to_string()))
            }
        }
    }

    /// The most probable class of every row.
    pub fn labels(&self) -> Result<Vec<usize>> {
        let probabilities = self.probabilities()?;
        Ok(probabilities.axis_iter(Axis(0)).map(|row| argmax(row.iter().copied())).collect())
    }

    /// Logits divided by `sqrt(1 + lambda v)`; the plain ones without a variance.
    pub fn adjusted_logits(&self) -> Array2<f64> {
        match &self.variance {
            Some(variance) => {
                adjusted_logits(self.logits.view(), variance.view(), self.mean_field_factor)
            }
            None => self.logits.clone(),
        }
    }

    /// Adjusted logits with a column a class: one logit `g` of a two-class model stands for
    /// `[-g / 2, g / 2]`, which has its probabilities and favours neither class.
    pub fn class_logits(&self) -> Result<Array2<f64>> {
        self.per_class(self.adjusted_logits())
    }

    /// Plain logits with a column a class.
    pub fn plain_class_logits(&self) -> Result<Array2<f64>> {
        self.per_class(self.logits.clone())
    }

    fn per_class(&self, logits: Array2<f64>) -> Result<Array2<f64>> {
        let classes = self.probabilities()?.ncols();
        if logits.ncols() == classes {
            return Ok(logits);
        }
        Ok(Array2::from_shape_fn((logits.nrows(), 2), |(i, k)| (k as f64 - 0.5) * logits[[i, 0]]))
    }

    /// The largest logit of every row: how much speaks for any class.
    pub fn largest_logits(&self) -> Result<Vec<f64>> {
        let top = |row: ArrayView1<'_, f64>| row.iter().copied().fold(f64::MIN, f64::max);
        Ok(self.class_logits()?.axis_iter(Axis(0)).map(top).collect())
    }

    /// Averages the predictions of several passes or members: probabilities, logits, variances.
    pub(crate) fn average(parts: Vec<Self>) -> Result<Self> {
        let count = parts.len() as f64;
        let mut parts = parts.into_iter();
        let mut total = parts
            .next()
            .ok_or_else(|| Error::Data("a prediction needs at least one pass".to_string()))?;
        let mut squares: Vec<f64> = match &total.predictive {
            Predictive::Normal { mean, .. } => mean.iter().map(|m| m * m).collect(),
            _ => Vec::new(),
        };
        for part in parts {
            total.logits += &part.logits;
            if let (Some(sum), Some(variance)) = (&mut total.variance, &part.variance) {
                *sum += variance;
            }
            match (&mut total.predictive, &part.predictive) {
                (Predictive::Classes(sum), Predictive::Classes(p)) => *sum += p,
                (
                    Predictive::Normal { mean, variance },
                    Predictive::Normal { mean: m, variance: v },
                ) => {
                    add(mean, m);
                    add(variance, v);
                    add(&mut squares, &m.iter().map(|m| m * m).collect::<Vec<_>>());
                }
                (Predictive::Rate(sum), Predictive::Rate(rate)) => add(sum, rate),
                _ => {
                    return Err(Error::Data("passes of different likelihoods".to_string()));
                }
            }
        }
        total.logits /= count;
        total.variance = total.variance.map(|variance| variance / count);
        match &mut total.predictive {
            Predictive::Classes(p) => *p /= count,
            Predictive::Rate(rate) => divide(rate, count),
            Predictive::Normal { mean, variance } => {
                divide(mean, count);
                divide(variance, count);
                // The variance of a mixture: what its parts have, and how far they are apart.
                for ((v, m), square) in variance.iter_mut().zip(mean).zip(squares) {
                    *v += (square / count - *m * *m).max(0.0);
                }
            }
        }
        Ok(total)
    }

    /// Puts the rows of batches one after the other.
    pub fn concatenate(mut parts: Vec<Self>) -> Result<Self> {
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        let rows = |arrays: Vec<ArrayView2<'_, f64>>| {
            concatenate(Axis(0), &arrays).map_err(|e| Error::Data(e.to_string()))
        };
        let first =
            parts.first().ok_or_else(|| Error::Data("there is nothing to predict".to_string()))?;
        let predictive = match &first.predictive {
            Predictive::Classes(_) => Predictive::Classes(rows(
                parts.iter().map(Self::probabilities).collect::<Result<_>>()?,
            )?),
            Predictive::Normal { .. } => {
                let (mut mean, mut variance) = (Vec::new(), Vec::new());
                for part in &parts {
                    if let Predictive::Normal { mean: m, variance: v } = &part.predictive {
                        mean.extend(m);
                        variance.extend(v);
                    }
                }
                Predictive::Normal { mean, variance }
            }
            Predictive::Rate(_) => Predictive::Rate(
                parts
                    .iter()
                    .flat_map(|part| match &part.predictive {
                        Predictive::Rate(rate) => rate.clone(),
                        _ => Vec::new(),
                    })
                    .collect(),
            ),
        };
        let variance = match &first.variance {
            Some(_) => {
                let views = parts.iter().filter_map(|part| part.variance.as_ref());
                Some(rows(views.map(|variance| variance.view()).collect())?)
            }
            None => None,
        };
        let hidden = parts.iter().map(|part| part.hidden.as_ref().map(|h| h.view()));
        let hidden = hidden.collect::<Option<Vec<_>>>().map(|views| concatenate(Axis(0), &views));
        let hidden = hidden.transpose().map_err(|e| Error::Data(e.to_string()))?;
        Ok(Self {
            hidden,
            detectors: first.detectors.clone(),
            combination: first.combination.clone(),
            predictive,
            logits: rows(parts.iter().map(|part| part.logits.view()).collect())?,
            variance,
            mean_field_factor: first.mean_field_factor,
        })
    }
}

impl Prediction {
    /// Puts rows back where they came from: row `i` was row `order[i]`.
    pub(crate) fn restore_order(mut self, order: &[usize]) -> Self {
        if order.is_sorted() {
            return self;
        }
        let mut source = vec![0; order.len()];
        for (now, &then) in order.iter().enumerate() {
            source[then] = now;
        }
        let rows = |array: &Array2<f64>| array.select(Axis(0), &source);
        let values = |list: &[f64]| source.iter().map(|&row| list[row]).collect();
        self.predictive = match &self.predictive {
            Predictive::Classes(probabilities) => Predictive::Classes(rows(probabilities)),
            Predictive::Normal { mean, variance } => {
                Predictive::Normal { mean: values(mean), variance: values(variance) }
            }
            Predictive::Rate(rate) => Predictive::Rate(values(rate)),
        };
        self.logits = rows(&self.logits);
        self.variance = self.variance.as_ref().map(rows);
        self.hidden = self.hidden.map(|hidden| hidden.select(Axis(0), &source));
        self
    }
}

/// The index of the largest value; the first of equals.
fn argmax(values: impl Iterator<Item = f64>) -> usize {
    let best = values.enumerate().fold((0, f64::NEG_INFINITY), |best, (index, value)| {
        if value > best.1 { (index, value) } else { best }
    });
    best.0
}

fn add(total: &mut [f64], part: &[f64]) {
    for (t, p) in total.iter_mut().zip(part) {
        *t += p;
    }
}

fn divide(total: &mut [f64], by: f64) {
    for t in total {
        *t /= by;
    }
}
