//! What a model is measured on.

use sngp::{Error, Result};
use sngp_pipeline::input::Dataset;

/// The OOD set of test rows whose label is no class of the model.
pub const UNKNOWN_LABELS: &str = "unknown labels";

/// The sets to measure on.
pub struct Evaluation<'a> {
    /// Labelled examples like those of the training.
    pub test: &'a Dataset,
    /// Out-of-distribution (OOD) sets by their names: examples that should be rejected.
    pub ood: Vec<(String, &'a Dataset)>,
    /// Labelled examples under other conditions.
    pub shift: Option<&'a Dataset>,
    /// Whether a row that cannot be used, or has an unknown label, is an error instead of a
    /// warning.
    pub strict: bool,
}

impl<'a> Evaluation<'a> {
    /// Test examples and nothing else.
    pub fn on(test: &'a Dataset) -> Self {
        Self { test, ood: Vec::new(), shift: None, strict: false }
    }

    /// Refuses sets that could not be told apart in the report.
    pub(super) fn check(&self) -> Result<()> {
        for (index, (name, _)) in self.ood.iter().enumerate() {
            if name == UNKNOWN_LABELS {
                return Err(Error::Data(format!(
                    "an OOD set cannot be called `{name}`: these are the test rows with unknown \
                     labels"
                )));
            }
            if self.ood[..index].iter().any(|(earlier, _)| earlier == name) {
                return Err(Error::Data(format!(
                    "two OOD sets are called `{name}`; give each a name of its own"
                )));
            }
        }
        Ok(())
    }
}
