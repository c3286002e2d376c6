//! Where a score becomes a decision: the one place. What changes here changes in
//! `sngp-onnx/src/verdict.rs`, which writes the same rules down as a graph.

use std::sync::Arc;

use sngp::detect::{Combination, Sense};
use sngp::metrics::conformal_quantile;
use sngp::model::{Condition, Decision, Outcome as Judged};
use sngp::predict::{Prediction, Predictive};
use sngp::score::{Combined, Score, Variance};
use sngp::{Error, Result};

use crate::aim::Aim;
use crate::answer::{Answer, Outcome, Reason, Verdict};
use crate::card::Task;
use crate::flags::Flags;
use crate::guard::Measured;
use crate::input::{Dataset, Prepared, PreparedRows, RowState};
use crate::pipeline::Pipeline;

/// The share of held-out rows that the distance rule may reject by the variance, and by the combined
/// score where another one decides: then nothing else knows rows that are unlike the data, and the
/// evidence is in decision 0015.
const FAR: f64 = 0.01;
const UNUSUAL: f64 = 0.02;
/// Fewer rows than this do not say what is usual.
const REFERENCE: usize = 50;
/// Rows that are prepared and predicted together.
const CHUNK: usize = 4096;

/// How much an answer tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Whether it has the probabilities of all classes.
    pub probabilities: bool,
    /// Whether it has their logits.
    pub logits: bool,
}

impl Pipeline {
    /// The answer to every row.
    pub fn answer(&self, rows: &Dataset) -> Result<Vec<Answer>> {
        self.answer_with(rows, Detail::default())
    }

    /// The same with more detail. Rows go through the network in batches; a row that cannot be
    /// used is answered as such and stops no other.
    pub fn answer_with(&self, rows: &Dataset, detail: Detail) -> Result<Vec<Answer>> {
        let mut answers = Vec::with_capacity(rows.rows());
        let all: Vec<usize> = (0..rows.rows()).collect();
        for some in all.chunks(CHUNK) {
            answers
                .extend(self.answer_prepared(self.card.preparation.prepare(rows, some)?, detail)?);
        }
        Ok(answers)
    }

    /// The answers to rows that are prepared already.
    pub fn answer_prepared(&self, rows: PreparedRows, detail: Detail) -> Result<Vec<Answer>> {
        let PreparedRows { inputs, states } = rows;
        let mut usable = self.usable_answers(&inputs, detail)?.into_iter();
        let answer = |state: RowState| match state {
            RowState::Bad(bad) => Ok(Answer::invalid(&bad.column, bad.reason)),
            RowState::Usable { oddity } => {
                let mut answer = usable
                    .next()
                    .ok_or_else(|| Error::Data("a row was lost on its way".to_string()))?;
                if let Some(why) = oddity {
                    answer.verdict = Verdict::Abstained { why };
                }
                Ok(answer)
            }
        };
        states.into_iter().map(answer).collect()
    }

    /// The answers to rows of a batch whose [flags](Pipeline::flags) are known: what is flagged is
    /// not accepted.
    pub fn answer_flagged(
        &self,
        rows: PreparedRows,
        detail: Detail,
        flags: &Flags,
    ) -> Result<Vec<Answer>> {
        let mut answers = self.answer_prepared(rows, detail)?;
        answers.iter_mut().for_each(|answer| flags.apply(answer));
        Ok(answers)
    }

    fn usable_answers(&self, inputs: &Prepared, detail: Detail) -> Result<Vec<Answer>> {
        if inputs.rows() == 0 {
            return Ok(Vec::new());
        }
        // The tokenizer comes first: a text that it refuses is one row to blame, too.
        let unknown = self.unknown_rows(inputs);
        match unknown.and_then(|unknown| Ok((unknown, self.predict(inputs)?))) {
            Ok((unknown, prediction)) => {
                let measured = self.measure(inputs, &prediction)?;
                let mut answers = self.verdicts(&prediction, measured.as_deref(), detail)?;
                for (answer, _) in answers.iter_mut().zip(&unknown).filter(|(_, odd)| **odd) {
                    answer.verdict = Verdict::Abstained { why: Reason::UnknownWords };
                }
                Ok(answers)
            }
            // One row may be to blame: an extreme number, or a text no tokenizer splits.
            Err(Error::Data(_)) if inputs.rows() == 1 => Ok(vec![Answer::unanswered()]),
            Err(Error::Data(_)) => {
                let (first, second) = halves(inputs);
                let mut answers = self.usable_answers(&first, detail)?;
                answers.extend(self.usable_answers(&second, detail)?);
                Ok(answers)
            }
            Err(error) => Err(error),
        }
    }

    /// Rows of an encoder none of whose tokens is known.
    fn unknown_rows(&self, inputs: &Prepared) -> Result<Vec<bool>> {
        match (inputs, &self.tokenizer) {
            (Prepared::Texts(texts), Some(tokenizer)) => tokenizer.all_unknown(texts),
            _ => Ok(vec![false; inputs.rows()]),
        }
    }

    /// How far rows are from the training inputs, where the pipeline has a guard.
    fn measure(&self, inputs: &Prepared, prediction: &Prediction) -> Result<Option<Vec<Measured>>> {
        let Some(guard) = &self.guard else { return Ok(None) };
        Ok(Some(match (inputs, &prediction.hidden) {
            (Prepared::Vectors(vectors), _) => guard.measure(vectors.view()),
            (Prepared::Encoded(encoded), _) => guard.measure(encoded.vectors.view()),
            (Prepared::Texts(_), Some(hidden)) => guard.measure(hidden.view()),
            // Passes that are sampled have no vectors of their own.
            (Prepared::Texts(_), None) => guard.measure(self.hidden(inputs)?.view()),
        }))
    }

    /// Which rows the guard admits.
    pub(crate) fn admitted(&self, inputs: &Prepared, prediction: &Prediction) -> Result<Vec<bool>> {
        Ok(match (self.measure(inputs, prediction)?, &self.guard) {
            (Some(measured), Some(guard)) => {
                measured.into_iter().map(|m| guard.admits(m)).collect()
            }
            _ => vec![true; inputs.rows()],
        })
    }

    fn verdicts(
        &self,
        prediction: &Prediction,
        measured: Option<&[Measured]>,
        detail: Detail,
    ) -> Result<Vec<Answer>> {
        let decision = self.decision();
        let score = self.score();
        let combined = self.combination().and_then(|told| told.evaluate(prediction).ok());
        let uncertainty = match &score {
            Score::Combined(_) => combined.clone(),
            _ => score.evaluate(prediction).ok(),
        };
        let variance = Score::from(Variance {}).evaluate(prediction).ok();
        let p_values = combined.zip(self.combination()).map(|(values, told)| {
            values.into_iter().map(|value| told.usual().p_value(value)).collect::<Vec<f64>>()
        });
        let rule = decision.and_then(|decision| decision.distance.as_ref());
        let near = rule.map(|rule| rule.holds(prediction));
        let combines = |score: &Score| matches!(score, Score::Combined(_));
        let loudest = match &prediction.combination {
            Some(combination) if combines(&score) || rule.is_some_and(|r| combines(&r.score)) => {
                combination.loudest(prediction).ok()
            }
            _ => None,
        };
        let evidence = match prediction.predictive {
            Predictive::Classes(_) => Some(prediction.largest_logits()?),
            _ => None,
        };
        let outcomes = self.outcomes(prediction, detail)?;
        let answer = |(row, outcome): (usize, Option<Outcome>)| {
            let uncertain = uncertainty.as_ref().map(|all| all[row]).filter(|u| u.is_finite());
            let admitted = match (measured, &self.guard) {
                (Some(measured), Some(guard)) => guard.admits(measured[row]),
                _ => true,
            };
            let far = match (&loudest, &self.card.task, &evidence) {
                (Some(loudest), _, _) => loudest[row] == Sense::Distance,
                (None, Task::Classification { least_evidence }, Some(evidence)) => {
                    evidence[row] < *least_evidence
                }
                _ => true,
            };
            let unlike = if far { Reason::FarFromData } else { Reason::Ambiguous };
            let why = if outcome.is_none() {
                Some(Reason::NotComputable)
            } else if self.card.uncalibrated {
                Some(Reason::NotCalibrated)
            } else if !admitted {
                Some(Reason::FarFromData)
            } else if near.as_ref().is_some_and(|near| !near[row]) {
                // The combined score rejects what is ambiguous as well; a variance never does.
                let by_variance = rule.is_none_or(|rule| !combines(&rule.score));
                Some(if by_variance { Reason::FarFromData } else { unlike })
            } else {
                match (decision, uncertain) {
                    (None, _) => None,
                    (Some(_), None) => Some(Reason::NotComputable),
                    (Some(decision), Some(u)) if accepts(decision, u, outcome.as_ref()) => None,
                    (Some(_), Some(_)) => Some(unlike),
                }
            };
            let verdict = why.map_or(Verdict::Accepted, |why| Verdict::Abstained { why });
            let mut parts = Vec::new();
            parts.extend(variance.as_ref().map(|all| ("variance", all[row])));
            parts.extend(measured.map(|all| ("input_distance", all[row].distance)));
            parts.extend(measured.map(|all| ("input_excess", all[row].excess)));
            let p_value = p_values.as_ref().map(|all| all[row]).filter(|p| p.is_finite());
            Answer { verdict, outcome, uncertainty: uncertain, p_value, flagged: None, parts }
        };
        Ok(outcomes.into_iter().enumerate().map(answer).collect())
    }

    /// What is predicted for each row; nothing where it is no number.
    fn outcomes(&self, prediction: &Prediction, detail: Detail) -> Result<Vec<Option<Outcome>>> {
        match (&prediction.predictive, &self.card.task) {
            (Predictive::Classes(_), Task::Classification { .. }) => {
                let probabilities = prediction.stated_probabilities()?;
                let labels = self.labels();
                let logits = detail.logits.then(|| prediction.class_logits()).transpose()?;
                let rows = prediction.labels()?.into_iter().enumerate();
                Ok(rows
                    .map(|(row, index)| {
                        let own = probabilities.row(row);
                        own.iter().all(|p| p.is_finite()).then(|| Outcome::Class {
                            index,
                            label: labels[index].clone(),
                            probability: own[index],
                            probabilities: detail.probabilities.then(|| own.to_vec()),
                            logits: logits.as_ref().map(|all| all.row(row).to_vec()),
                        })
                    })
                    .collect())
            }
            (
                Predictive::Normal { mean, variance },
                Task::Regression { mean: centre, scale, interval, coverage, .. },
            ) => {
                let row = |(mean, variance): (&f64, &f64)| {
                    let value = mean * scale + centre;
                    let half = interval * variance.sqrt() * scale;
                    let promised = *coverage > 0.0;
                    (value.is_finite() && half.is_finite()).then(|| Outcome::Number {
                        value,
                        low: promised.then_some(value - half),
                        high: promised.then_some(value + half),
                    })
                };
                Ok(mean.iter().zip(variance).map(row).collect())
            }
            (Predictive::Rate(rates), Task::Regression { .. }) => {
                let row = |&value: &f64| {
                    let number = Outcome::Number { value, low: None, high: None };
                    value.is_finite().then_some(number)
                };
                Ok(rates.iter().map(row).collect())
            }
            _ => {
                let message = "the model and its card do not agree on what is predicted";
                Err(Error::Data(message.to_string()))
            }
        }
    }

    /// The score it is uncertain by: its decision's, or its own.
    pub fn score(&self) -> Score {
        let own = || self.default_score();
        self.decision().map_or_else(own, |decision| decision.score.clone())
    }

    /// The uncertainty of prepared rows by a score, infinite where a row is rejected in any case:
    /// by the guard, by the distance rule, or because it has no value.
    pub fn rejection_scores(
        &self,
        score: &Score,
        distance: Option<&Condition>,
        inputs: &Prepared,
    ) -> Result<Vec<f64>> {
        let prediction = self.predict(inputs)?;
        let admitted = self.admitted(inputs, &prediction)?;
        let near = distance.map(|condition| condition.holds(&prediction));
        let values = score.evaluate(&prediction)?;
        let value = |(row, value): (usize, f64)| {
            let near = near.as_ref().is_none_or(|near| near[row]);
            if admitted[row] && near && !value.is_nan() { value } else { f64::INFINITY }
        };
        Ok(values.into_iter().enumerate().map(value).collect())
    }

    /// How uncertain it is about prepared rows, as [`rejection_scores`](Self::rejection_scores)
    /// has it, and whether it is right.
    pub fn judged(
        &self,
        score: &Score,
        distance: Option<&Condition>,
        inputs: &Prepared,
        classes: &[usize],
    ) -> Result<Vec<Judged>> {
        let scores = self.rejection_scores(score, distance, inputs)?.into_iter();
        let rows = scores.zip(self.predict(inputs)?.labels()?).zip(classes);
        let judge = |((uncertainty, found), class): ((f64, usize), &usize)| Judged {
            uncertainty,
            correct: found == *class,
        };
        Ok(rows.map(judge).collect())
    }

    /// The rule that keeps inputs unlike the data out beside what decides: by the combined score where
    /// the model has one and another decides, by the variance otherwise. Models with neither have the
    /// guard alone.
    pub(crate) fn distance_rule(
        &self,
        inputs: &Prepared,
        decides: &Score,
    ) -> Result<Option<Condition>> {
        let combined = Score::from(Combined {});
        let (score, share) = match self.combination {
            Some(_) if *decides != combined => (combined, UNUSUAL),
            _ => (Score::from(Variance {}), FAR),
        };
        let Ok(values) = score.evaluate(&self.predict(inputs)?) else { return Ok(None) };
        let rows = values.len();
        // So few rows cannot promise such a share: the largest of them is the limit.
        let threshold = match conformal_quantile(&values, 1.0 - share)? {
            Some(threshold) => threshold,
            None => values.iter().copied().fold(0.0, f64::max),
        };
        let basis = format!("hardly any of {rows} held-out examples is as unlike the data");
        Ok(Some(Condition { score, threshold, basis }))
    }

    /// The rule that serves an aim, by held-out rows.
    pub(crate) fn decide(
        &self,
        aim: &Aim,
        inputs: &Prepared,
        labels: Option<&[usize]>,
    ) -> Result<Decision> {
        let score = aim.score();
        let distance = self.distance_rule(inputs, score)?;
        let uncertainty = self.rejection_scores(score, distance.as_ref(), inputs)?;
        let predicted = match self.labels() {
            [] => Vec::new(),
            _ => self.predict(inputs)?.labels()?,
        };
        let right = |row: usize| labels.is_none_or(|labels| labels[row] == predicted[row]);
        if aim.needs_labels() && labels.is_none() {
            return Err(Error::Data("labels are needed to bound an error".to_string()));
        }
        let outcome = |(row, uncertainty)| Judged { uncertainty, correct: right(row) };
        let held_out: Vec<Judged> = uncertainty.into_iter().enumerate().map(outcome).collect();
        let decision = aim.decision(&held_out, &predicted, self.labels().len())?;
        Ok(Decision { distance, ..decision })
    }

    /// Lets p-values be among these rows, where they are enough, and says whether they are: what
    /// scores are usually like changes with the model, and with what it is used on.
    pub(crate) fn refer_to(&mut self, inputs: &Prepared, labels: Option<&[usize]>) -> Result<bool> {
        if self.combination.is_none() || inputs.rows() < REFERENCE {
            return Ok(false);
        }
        let prediction = self.predict(inputs)?;
        let told = Combination::of(&prediction)?.with_minimax(self.card.minimax);
        self.combination = Some(Arc::new(told));
        if let (Some(_), Some(labels)) = (self.card.minimax, labels) {
            self.choose_minimax(&prediction, labels)?;
        }
        Ok(true)
    }

    /// Chooses the decision anew after a change of the model, by the rows it was chosen on. Where
    /// those are not kept, the decision is dropped and nothing is answered until there is another.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let Some(aim) = self.card.aim.clone() else {
            // A decision of which nobody knows what it was chosen for.
            self.card.uncalibrated |= self.model.decision().is_some();
            return Ok(());
        };
        let kept = self.calibration.as_ref().map(|rows| Prepared::Vectors(rows.inputs.clone()));
        if let Some(inputs) = &kept {
            let labels = self.calibration.as_ref().and_then(|rows| rows.labels.clone());
            if !self.refer_to(inputs, labels.as_deref())? {
                // They are among rows as the model was before.
                let told = self.combination.take().map(Arc::unwrap_or_clone);
                self.combination = told.map(|told| Arc::new(told.with_shared_rows()));
            }
        }
        let decision = self
            .calibration
            .as_ref()
            .zip(kept)
            .map(|(rows, inputs)| self.decide(&aim, &inputs, rows.labels.as_deref()));
        match decision {
            Some(Ok(decision)) => {
                self.model.set_decision(Some(decision));
                self.card.uncalibrated = false;
            }
            Some(Err(Error::Data(_))) | None => self.card.uncalibrated = true,
            Some(Err(error)) => return Err(error),
        }
        Ok(())
    }
}

impl Flags {
    /// Says of an answer whether it is flagged. What is flagged is not accepted.
    pub fn apply(&self, answer: &mut Answer) {
        answer.flagged = answer.p_value.map(|p_value| self.holds(p_value));
        if answer.flagged == Some(true) && answer.is_accepted() {
            answer.verdict = Verdict::Abstained { why: Reason::Flagged };
        }
    }
}

fn halves(inputs: &Prepared) -> (Prepared, Prepared) {
    let rows: Vec<usize> = (0..inputs.rows()).collect();
    let (first, second) = rows.split_at(rows.len() / 2);
    (inputs.select(first), inputs.select(second))
}

/// Whether a rule accepts what is predicted, by the threshold of its class where it has one.
fn accepts(decision: &Decision, uncertainty: f64, outcome: Option<&Outcome>) -> bool {
    match outcome {
        Some(Outcome::Class { index, .. }) => decision.accepts_as(uncertainty, *index),
        _ => decision.accepts(uncertainty),
    }
}
