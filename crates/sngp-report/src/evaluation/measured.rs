//! A set of rows through the pipeline.

use sngp::predict::Prediction;
use sngp::score::Score;
use sngp::{Error, Result};
use sngp_pipeline::input::{Dataset, Prepared, RowState};
use sngp_pipeline::{Answer, Detail, Pipeline, Reason, Verdict};

use super::warnings::Notes;

/// The rows of a set that can be measured.
pub(super) struct Measured<'a> {
    pub set: &'a Dataset,
    /// Their places in the set.
    pub rows: Vec<usize>,
    pub prediction: Prediction,
    /// Which of them everything but the threshold admits.
    pub admitted: Vec<bool>,
}

impl<'a> Measured<'a> {
    /// Some rows of a set; none where no row of it can be used. Those that cannot are noted.
    pub fn of(
        model: &Pipeline,
        set: &'a Dataset,
        wanted: &[usize],
        notes: &mut Notes<'_>,
    ) -> Result<Option<Self>> {
        let prepared = model.card().preparation.prepare(set, wanted)?;
        let (inputs, states) = (prepared.inputs.clone(), prepared.states.clone());
        let answers = model.answer_prepared(prepared, Detail::default())?;
        // Only usable rows have an input, so places among those are counted along.
        let (mut kept, mut rows, mut known, mut bad) = (vec![], vec![], vec![], vec![]);
        let mut place = 0;
        for ((&row, state), answer) in wanted.iter().zip(&states).zip(answers) {
            if is_measurable(&answer) {
                kept.push(place);
                rows.push(row);
                known.push(answer);
            } else {
                bad.push((row, answer.reason().unwrap_or_default()));
            }
            place += usize::from(matches!(state, RowState::Usable { .. }));
        }
        notes.unusable(&set.file, wanted.len(), &bad)?;
        notes.known(&set.file, inputs.rows(), model.known_rows(&inputs).unwrap_or(0));
        if kept.is_empty() {
            return Ok(None);
        }
        let inputs = if kept.len() == inputs.rows() { inputs } else { inputs.select(&kept) };
        let prediction = model.predict(&inputs)?;
        let admitted = admitted(model, &inputs, &known)?;
        Ok(Some(Self { set, rows, prediction, admitted }))
    }

    /// All rows of a set.
    pub fn all(model: &Pipeline, set: &'a Dataset, notes: &mut Notes<'_>) -> Result<Option<Self>> {
        Self::of(model, set, &(0..set.rows()).collect::<Vec<_>>(), notes)
    }

    /// Every row's value of a score; none where it needs what the model does not have.
    pub fn score(&self, score: &Score) -> Result<Option<Vec<f64>>> {
        match score.evaluate(&self.prediction) {
            Ok(values) => Ok(Some(values)),
            Err(Error::Unsupported(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether there is something to measure: an outcome, and an uncertainty where the model decides
/// by one.
fn is_measurable(answer: &Answer) -> bool {
    answer.outcome.is_some() && (answer.uncertainty.is_some() || answer.is_accepted())
}

/// Which rows everything but the threshold admits. An answer says so for most of them; where a
/// rejection may be the threshold's or another rule's, the other rules are asked again.
fn admitted(model: &Pipeline, inputs: &Prepared, answers: &[Answer]) -> Result<Vec<bool>> {
    let decision = model.decision().filter(|_| !model.card().uncalibrated);
    let mut admitted = Vec::with_capacity(answers.len());
    let mut open = Vec::new();
    for (row, answer) in answers.iter().enumerate() {
        admitted.push(match &answer.verdict {
            Verdict::Accepted => true,
            // The threshold of its class is a rule of its own beside the common one.
            Verdict::Abstained { why: Reason::Ambiguous } => decision
                .is_none_or(|decision| answer.uncertainty.is_none_or(|u| !decision.accepts(u))),
            Verdict::Abstained { why: Reason::FarFromData } => {
                let above = |limit| answer.uncertainty.is_some_and(|value| value > limit);
                if decision.is_some_and(|decision| above(decision.threshold)) {
                    open.push(row);
                }
                false
            }
            // Nothing is answered before the next calibration; measured are the rules that stay.
            Verdict::Abstained { why: Reason::NotCalibrated } => {
                open.push(row);
                false
            }
            _ => false,
        });
    }
    if !open.is_empty() {
        let distance = decision.and_then(|decision| decision.distance.as_ref());
        let scores = model.rejection_scores(&model.score(), distance, &inputs.select(&open))?;
        for (row, score) in open.into_iter().zip(scores) {
            admitted[row] = score.is_finite();
        }
    }
    Ok(admitted)
}
