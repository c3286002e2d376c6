//! What a reader has to know before believing the figures.

use sngp::{Error, Result};
use sngp_pipeline::Pipeline;
use sngp_pipeline::fit::KnownRows;

use crate::evidence::{ClassRow, Evidence};

/// From so many test rows on it means something that most of them are rejected.
const FEWEST: usize = 5;
/// Classes that are named; more are counted.
const NAMED: usize = 10;

/// What becomes of rows that cannot be measured.
pub(super) const LEFT_OUT: &str = "they are left out";

/// Notes about rows that are left out: warnings, or errors where nothing may be.
pub(super) struct Notes<'a> {
    pub warnings: &'a mut Vec<String>,
    pub strict: bool,
}

impl Notes<'_> {
    /// What is wrong with some rows and, where that is no error, what becomes of them.
    fn add(&mut self, fault: String, fate: &str) -> Result<()> {
        if self.strict {
            return Err(Error::Data(fault));
        }
        self.warnings.push(format!("{fault}; {fate}"));
        Ok(())
    }

    /// Rows that had no label in the file.
    pub fn unlabelled(&mut self, file: &str, count: usize) -> Result<()> {
        match count {
            0 => Ok(()),
            _ => self.add(format!("{file}: rows without a label: {count}"), LEFT_OUT),
        }
    }

    /// Rows whose label is no class, and what becomes of them.
    pub fn unknown(&mut self, file: &str, known: &KnownRows, fate: &str) -> Result<()> {
        known.remark().map_or(Ok(()), |remark| self.add(format!("{file}: {remark}"), fate))
    }

    /// Rows whose label is no number, with the first of them.
    pub fn no_numbers(&mut self, file: &str, bad: &[(usize, &str)]) -> Result<()> {
        bad.first().map_or(Ok(()), |(row, label)| {
            let (count, row) = (bad.len(), row + 1);
            let fault = format!(
                "{file}: labels that are no finite numbers: {count}, the first is `{label}` in row \
                 {row}"
            );
            self.add(fault, LEFT_OUT)
        })
    }

    /// Rows, of so many, that the model has learned from or was tuned on. They are measured all the same.
    pub fn known(&mut self, file: &str, all: usize, known: usize) {
        if known > 0 {
            self.warnings.push(format!(
                "{file}: the model has learned from {known} of {all} rows or was tuned on them: what is \
                 measured on them is too good"
            ));
        }
    }

    /// Rows that cannot be used, of so many, with the reason of the first.
    pub fn unusable(&mut self, file: &str, all: usize, bad: &[(usize, String)]) -> Result<()> {
        bad.first().map_or(Ok(()), |(row, reason)| {
            let (count, row) = (bad.len(), row + 1);
            let fault = format!(
                "{file}: {count} of {all} rows cannot be used, the first is row {row}: {reason}"
            );
            self.add(fault, LEFT_OUT)
        })
    }
}

/// A model that answers nothing for now.
pub(super) fn about_model(model: &Pipeline, evidence: &mut Evidence) {
    if model.card().uncalibrated {
        evidence.warnings.push(
            "the model was changed since its threshold was chosen: it abstains from everything \
             until it is calibrated; what is measured here is the model without a threshold"
                .to_string(),
        );
    }
}

/// Classes of which most test rows are rejected: a good headline can hide that a rare class is
/// never answered.
pub(super) fn about_classes(evidence: &mut Evidence) {
    let mut rejected: Vec<&ClassRow> = evidence
        .classes
        .iter()
        .filter(|class| class.rows >= FEWEST && class.abstained > 0.5)
        .collect();
    rejected.sort_by(|a, b| b.abstained.total_cmp(&a.abstained));
    let told = |class: &&ClassRow| {
        let count = (class.abstained * class.rows as f64).round();
        format!(
            "class `{}` is mostly rejected: {count} of its {} test rows",
            class.label, class.rows
        )
    };
    let mut warnings: Vec<String> = rejected.iter().take(NAMED).map(told).collect();
    if rejected.len() > NAMED {
        let more = rejected.len() - NAMED;
        warnings.push(format!("{more} more classes are rejected on most of their test rows"));
    }
    evidence.warnings.extend(warnings);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(label: &str, rows: usize, abstained: f64) -> ClassRow {
        let label = label.to_string();
        ClassRow {
            label,
            rows,
            recall: 0.9,
            precision: 0.9,
            f1: 0.9,
            mean_probability: 0.9,
            abstained,
            threshold: None,
        }
    }

    #[test]
    fn a_rare_class_that_is_rejected_is_said() {
        let classes =
            vec![class("no", 989, 0.01), class("yes", 11, 10.0 / 11.0), class("few", 4, 1.0)];
        let mut evidence = Evidence { classes, ..Evidence::default() };
        about_classes(&mut evidence);
        assert_eq!(evidence.warnings, ["class `yes` is mostly rejected: 10 of its 11 test rows"]);
    }

    #[test]
    fn many_are_counted() {
        let classes = (0..13).map(|i| class(&i.to_string(), 8, 1.0)).collect();
        let mut evidence = Evidence { classes, ..Evidence::default() };
        about_classes(&mut evidence);
        assert_eq!(evidence.warnings.len(), NAMED + 1);
        assert!(evidence.warnings[NAMED].starts_with("3 more classes"));
    }

    #[test]
    fn strict_notes_are_errors() {
        let mut warnings = Vec::new();
        let bad = [(6, "invalid_input: column `x`: no number".to_string())];
        let mut notes = Notes { warnings: &mut warnings, strict: true };
        let error = notes.unusable("test.csv", 9, &bad).unwrap_err().to_string();
        assert!(error.contains("test.csv") && error.contains("row 7"), "{error}");
        let mut notes = Notes { warnings: &mut warnings, strict: false };
        notes.unusable("test.csv", 9, &bad).unwrap();
        notes.unusable("test.csv", 9, &[]).unwrap();
        assert_eq!(warnings.len(), 1);
    }
}
