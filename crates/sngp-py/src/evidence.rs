//! A pipeline measured, and its report.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sngp::Error;
use sngp_report::evaluation::{self, Evaluation};
use sngp_report::evidence::{self as report, check};

use crate::pipeline::{Pipeline, parsed};
use crate::rows::Rows;
use crate::work::detached;

/// What an evaluation found.
#[pyclass(frozen, module = "sngp")]
pub struct Evidence {
    evidence: report::Evidence,
}

/// Measures a pipeline on labelled rows and on named sets of OOD rows.
#[pyfunction]
#[pyo3(signature = (pipeline, test, ood, shift=None, title="model".to_string(), strict=false))]
pub fn evaluate(
    py: Python<'_>,
    pipeline: &Pipeline,
    test: PyRef<'_, Rows>,
    ood: BTreeMap<String, Py<Rows>>,
    shift: Option<PyRef<'_, Rows>>,
    title: String,
    strict: bool,
) -> PyResult<Evidence> {
    let rows = |rows: &PyRef<'_, Rows>| rows.set.rows();
    let mut facts = vec![("test".to_string(), format!("{} rows", rows(&test)))];
    let sets = Evaluation {
        test: &test.set,
        ood: ood.iter().map(|(name, set)| (name.clone(), &set.get().set)).collect(),
        shift: shift.as_ref().map(|set| &set.set),
        strict,
    };
    for (name, set) in &sets.ood {
        facts.push((format!("OOD set {name}"), format!("{} rows", set.rows())));
    }
    let evidence = detached(py, || {
        let model = pipeline.read();
        let mut evidence = evaluation::evaluate(&model, &sets)?;
        let method = model.model().config().method.to_string();
        evidence.title = title;
        evidence.facts = vec![
            ("method".to_string(), method),
            ("input".to_string(), model.card().preparation.describe()),
        ];
        evidence.facts.extend(facts);
        let interval = "95 %, bootstrap of 200 resamples".to_string();
        evidence.facts.push(("intervals".to_string(), interval));
        check(&evidence).map_err(|error| Error::Data(error.to_string()))?;
        Ok(evidence)
    })?;
    Ok(Evidence { evidence })
}

#[pymethods]
impl Evidence {
    /// The report: one page that opens anywhere.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| report::html(&self.evidence))
    }

    /// The metrics, one dictionary each: `set`, `ood`, `by`, `name`, `value`, `low`, `high`, ..
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &self.evidence.metrics)
    }

    /// What the model's own decision makes of the rows.
    fn at_threshold<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &self.evidence.at_threshold())
    }

    /// What to know before believing the figures.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.evidence.warnings.clone()
    }

    /// The score the model decides by.
    #[getter]
    fn score(&self) -> &str {
        &self.evidence.score
    }

    /// Title, threshold and where it comes from.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = PyDict::new(py);
        summary.set_item("title", &self.evidence.title)?;
        summary.set_item("threshold", self.evidence.threshold)?;
        summary.set_item("basis", &self.evidence.basis)?;
        Ok(summary)
    }
}
