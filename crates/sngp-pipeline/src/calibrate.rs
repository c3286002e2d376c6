//! When a pipeline abstains, by rows that played no part in its training.

use sngp::predict::Integration;
use sngp::score::{MaxProbability, Score};
use sngp::{Error, Result};

use crate::aim::Aim;
use crate::calibration_rows::CalibrationRows;
use crate::card::Task;
pub use crate::class_coverage::{ClassCoverage, class_coverage};
use crate::fit::{best_calibration, known_rows};
use crate::input::{Dataset, Prepared};
use crate::pipeline::Pipeline;
use crate::seen::{NOTHING_KEPT, hashes};

/// What a calibration is to reach.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// At most this share of the accepted answers is wrong, with this confidence.
    MaxError {
        /// The share.
        share: f64,
        /// The confidence.
        confidence: f64,
    },
    /// The same on average over held-out sets like these, which accepts more.
    MeanError {
        /// The share.
        share: f64,
    },
    /// At most this share of examples like these is rejected.
    MaxAbstain {
        /// The share.
        share: f64,
    },
    /// A threshold of the score, e.g. one found with the report's slider.
    Threshold {
        /// The largest uncertainty that is accepted.
        value: f64,
    },
    /// One of the others, but a threshold by hand, for the answers of each class by itself.
    PerClass(Box<Goal>),
}

/// What a calibration was made with, and what it comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibrated {
    /// Rows that were used.
    pub rows: usize,
    /// Remarks about the others, for the user.
    pub remarks: Vec<String>,
    /// What the threshold means for each class, where the rows have labels.
    pub classes: Vec<ClassCoverage>,
}

impl Pipeline {
    /// Chooses when it abstains, by held-out examples. Rows it has learned from are left out: what
    /// they would promise does not hold.
    ///
    /// ```
    /// use sngp_pipeline::calibrate::Goal;
    /// # use ndarray::Array2;
    /// # use sngp_pipeline::input::Dataset;
    /// # use sngp_pipeline::{Options, Pipeline};
    /// # let vectors = |start: usize| Array2::from_shape_fn((100, 3), |(i, j)| {
    /// #     ((start + i) % 2) as f32 + 0.1 * (((start + i) * (j + 3)) as f32).sin()
    /// # });
    /// # let labels: Vec<usize> = (0..100).map(|i| i % 2).collect();
    /// # let options = Options { features: 64, ..Default::default() };
    /// # let mut pipeline = Pipeline::fit_vectors(vectors(0).view(), &labels, &options)?;
    /// let held_out = Dataset::of_vectors(vectors(100).view())?.with_labels(&labels)?;
    /// pipeline.calibrate(&held_out, &Goal::MaxAbstain { share: 0.1 }, None)?;
    /// assert!(pipeline.decision().unwrap().basis.contains("10 %"));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn calibrate(
        &mut self,
        held_out: &Dataset,
        goal: &Goal,
        score: Option<Score>,
    ) -> Result<Calibrated> {
        let aim = self.aim(goal, score)?;
        let (inputs, labels, mut calibrated) = self.fresh(held_out, aim.needs_labels())?;
        self.card.fresh_p_values |= self.refer_to(&inputs, labels.as_deref())?;
        let decision = self.decide(&aim, &inputs, labels.as_deref())?;
        if let Some(labels) = &labels {
            let mut judged =
                self.judged(&decision.score, decision.distance.as_ref(), &inputs, labels)?;
            let predicted = self.predict(&inputs)?.labels()?;
            for (one, class) in judged.iter_mut().zip(predicted) {
                if !decision.accepts_as(one.uncertainty, class) && decision.accepts(one.uncertainty)
                {
                    one.uncertainty = f64::INFINITY;
                }
            }
            calibrated.classes = class_coverage(self.labels(), labels, &judged, decision.threshold);
        }
        self.model.set_decision(Some(decision));
        self.card.aim = Some(aim);
        self.card.uncalibrated = false;
        self.calibration = match (self.labels().is_empty(), &labels) {
            // Without labels an error could not be bounded anew: abstention can.
            (false, None) => None,
            _ => CalibrationRows::of(&inputs, labels.as_deref()),
        };
        Ok(calibrated)
    }

    /// What a goal means for this model.
    fn aim(&self, goal: &Goal, score: Option<Score>) -> Result<Aim> {
        let numbers = matches!(self.card.task, Task::Regression { .. });
        let by_probability = || Score::from(MaxProbability {});
        Ok(match goal {
            Goal::MaxError { .. } | Goal::MeanError { .. } if numbers => {
                return Err(Error::Unsupported(
                    "an error is bounded for classes; a number has an interval".to_string(),
                ));
            }
            Goal::PerClass(_) if numbers => {
                let message = "a model of numbers has no classes with thresholds of their own";
                return Err(Error::Unsupported(message.to_string()));
            }
            Goal::MaxError { share, confidence } => {
                let score = score.unwrap_or_else(by_probability);
                Aim::Error { max_error: *share, confidence: *confidence, score }
            }
            Goal::MeanError { share } => {
                Aim::MeanError { max_error: *share, score: score.unwrap_or_else(by_probability) }
            }
            Goal::MaxAbstain { share } => {
                let score = score.unwrap_or_else(|| self.default_score());
                Aim::Abstention { share: *share, score }
            }
            Goal::Threshold { value } => {
                Aim::Threshold { threshold: *value, score: score.unwrap_or_else(|| self.score()) }
            }
            Goal::PerClass(goal) => Aim::PerClass { aim: Box::new(self.aim(goal, score)?) },
        })
    }

    /// Chooses how much the variance counts in the probabilities, by held-out examples; the
    /// decision is then chosen anew.
    pub fn tune_factor(&mut self, held_out: &Dataset) -> Result<f64> {
        let (inputs, labels, _) = self.fresh(held_out, true)?;
        let prediction = self.predict(&inputs)?;
        if prediction.variance.is_none() {
            let method = &self.model.config().method;
            return Err(Error::Unsupported(format!("{method} has no variance to weigh")));
        }
        let factor = best_calibration(&prediction, &labels.unwrap_or_default(), false)?.factor;
        self.set_integration(Integration::MeanField { factor })?;
        Ok(factor)
    }

    /// Prepared rows of a set that the model has not seen, with their classes where those are known.
    pub(crate) fn fresh(
        &self,
        set: &Dataset,
        needs_labels: bool,
    ) -> Result<(Prepared, Option<Vec<usize>>, Calibrated)> {
        let mut calibrated = Calibrated::default();
        let classes = !self.labels().is_empty();
        let labels = match (classes && needs_labels, &set.labels) {
            (true, _) => Some(set.labels()?),
            (false, Some(labels)) if classes => Some(labels.as_slice()),
            _ => None,
        };
        let known = labels.map(|labels| known_rows(labels, self.labels()));
        calibrated.remarks.extend(known.as_ref().and_then(|known| known.remark()));
        let rows = known.as_ref().map_or((0..set.rows()).collect(), |known| known.rows.clone());
        let inputs = self.card.preparation.prepare_all(set, &rows)?;
        let seen = match &self.seen {
            Some(seen) => seen.contains(&hashes(&inputs)),
            None => {
                calibrated.remarks.push(format!(
                    "make sure that the model has not learned from these rows: {NOTHING_KEPT}"
                ));
                vec![false; rows.len()]
            }
        };
        let kept: Vec<usize> = (0..rows.len()).filter(|&row| !seen[row]).collect();
        let dropped = rows.len() - kept.len();
        if dropped > 0 {
            calibrated.remarks.push(format!(
                "{dropped} of {} rows are left out: the model has learned from them",
                rows.len()
            ));
        }
        if kept.is_empty() {
            let reason = match (dropped, known.as_ref().and_then(|known| known.remark())) {
                (0, Some(remark)) => format!("it has no row to calibrate on: {remark}"),
                (0, None) => "it has no row to calibrate on".to_string(),
                _ => "the model has learned from all its rows; what they promise does not hold"
                    .to_string(),
            };
            return Err(Error::Data(format!("{}: {reason}", set.file)));
        }
        calibrated.rows = kept.len();
        let labels = known.map(|known| kept.iter().map(|&row| known.classes[row]).collect());
        Ok((inputs.select(&kept), labels, calibrated))
    }
}
