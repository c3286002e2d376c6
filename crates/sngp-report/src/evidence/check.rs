//! Refuses what cannot be shown honestly.

use sngp::metrics::Bin;

use super::{ClassRow, Evidence, Example, MetricRow, Scored};

/// Why a report cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// Nothing to show.
    #[error("there is no test example; a report needs at least one")]
    Empty,

    /// Both kinds of task at once.
    #[error("a report is about classification or regression; it was given examples of both")]
    Mixed,

    /// A number that is NaN or infinite.
    #[error("{what} {index} is {value}, but it has to be a finite number")]
    NotFinite {
        /// The list and the field.
        what: String,
        /// Which entry, from 0.
        index: usize,
        /// The number.
        value: f64,
    },

    /// A share outside 0 to 1.
    #[error("{what} {index} is {value}, but it has to lie between 0 and 1")]
    Share {
        /// The list and the field.
        what: String,
        /// Which entry, from 0.
        index: usize,
        /// The number.
        value: f64,
    },

    /// An interval whose ends are the wrong way round.
    #[error("interval {index} runs from {low} down to {high}")]
    Reversed {
        /// Which entry, from 0.
        index: usize,
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
    },

    /// OOD sets that do not add up to the OOD examples.
    #[error("the OOD sets hold {claimed} examples, but there are {examples}")]
    OodSets {
        /// The OOD examples.
        examples: usize,
        /// Those of all sets.
        claimed: usize,
    },
}

/// Checks that the evidence can be shown: there is a test example, nothing is NaN, uncertainties
/// are finite, shares lie between 0 and 1, and every OOD example has its set.
///
/// A metric may be infinite (a likelihood can be), but not NaN.
///
/// ```
/// use sngp_report::evidence::{Evidence, check};
///
/// let evidence = Evidence { ood: vec![f64::NAN], ..Evidence::default() };
/// assert!(check(&evidence).is_err());
/// ```
///
/// # Errors
/// An [`EvidenceError`] that names the first number at fault.
pub fn check(evidence: &Evidence) -> Result<(), EvidenceError> {
    match &evidence.regression {
        None if evidence.test.is_empty() => return Err(EvidenceError::Empty),
        Some(regression) if regression.rows.is_empty() => return Err(EvidenceError::Empty),
        Some(_) if !evidence.test.is_empty() => return Err(EvidenceError::Mixed),
        _ => {}
    }
    scored("test", &evidence.test)?;
    scored("shift", &evidence.shift)?;
    finite("OOD uncertainty", evidence.ood.iter().copied())?;
    let claimed = evidence.ood_sets.iter().map(|set| set.admitted.len()).sum();
    if !evidence.ood_sets.is_empty() && claimed != evidence.ood.len() {
        return Err(EvidenceError::OodSets { examples: evidence.ood.len(), claimed });
    }
    finite("threshold", evidence.threshold.iter().copied())?;
    evidence.metrics.iter().enumerate().try_for_each(|(index, row)| metric(index, row))?;
    classes(&evidence.classes)?;
    bins(&evidence.reliability)?;
    examples("uncertain example", &evidence.uncertain)?;
    examples("wrong example", &evidence.wrong)?;
    examples("accepted OOD example", &evidence.accepted_ood)?;
    let Some(regression) = &evidence.regression else {
        return Ok(());
    };
    shares("nominal coverage", [regression.coverage])?;
    for (index, row) in regression.rows.iter().chain(&regression.shift).enumerate() {
        let numbers = [row.truth, row.mean, row.low, row.high, row.uncertainty];
        if let Some(value) = numbers.into_iter().find(|value| !value.is_finite()) {
            return Err(EvidenceError::NotFinite { what: "interval".into(), index, value });
        }
        if row.low > row.high {
            return Err(EvidenceError::Reversed { index, low: row.low, high: row.high });
        }
    }
    Ok(())
}

fn scored(set: &str, rows: &[Scored]) -> Result<(), EvidenceError> {
    finite(&format!("{set} uncertainty"), rows.iter().map(|row| row.uncertainty))?;
    shares(&format!("{set} probability"), rows.iter().map(|row| row.probability))
}

fn metric(index: usize, row: &MetricRow) -> Result<(), EvidenceError> {
    match [Some(row.value), row.low, row.high].into_iter().flatten().find(|value| value.is_nan()) {
        Some(value) => {
            Err(EvidenceError::NotFinite { what: format!("metric {}", row.name), index, value })
        }
        None => Ok(()),
    }
}

fn classes(rows: &[ClassRow]) -> Result<(), EvidenceError> {
    shares("recall", rows.iter().map(|row| row.recall))?;
    shares("precision", rows.iter().map(|row| row.precision))?;
    shares("F1", rows.iter().map(|row| row.f1))?;
    shares("mean probability", rows.iter().map(|row| row.mean_probability))?;
    shares("abstained share", rows.iter().map(|row| row.abstained))
}

fn bins(bins: &[Bin]) -> Result<(), EvidenceError> {
    shares("confidence of bin", bins.iter().map(|bin| bin.confidence))?;
    shares("accuracy of bin", bins.iter().map(|bin| bin.accuracy))
}

fn examples(what: &str, examples: &[Example]) -> Result<(), EvidenceError> {
    finite(what, examples.iter().map(|example| example.uncertainty))?;
    shares(what, examples.iter().map(|example| example.probability))
}

fn finite(what: &str, values: impl IntoIterator<Item = f64>) -> Result<(), EvidenceError> {
    match values.into_iter().enumerate().find(|(_, value)| !value.is_finite()) {
        Some((index, value)) => Err(EvidenceError::NotFinite { what: what.into(), index, value }),
        None => Ok(()),
    }
}

fn shares(what: &str, values: impl IntoIterator<Item = f64>) -> Result<(), EvidenceError> {
    // Probabilities in single precision may exceed one by a rounding.
    let share = |value: f64| (-1e-6..=1.0 + 1e-6).contains(&value);
    match values.into_iter().enumerate().find(|(_, value)| !share(*value)) {
        Some((index, value)) => Err(EvidenceError::Share { what: what.into(), index, value }),
        None => Ok(()),
    }
}
