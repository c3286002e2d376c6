//! Scores, metrics and detectors as functions of arrays.

use std::sync::Arc;

use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sngp::Error;
use sngp::detect::Geometry;
use sngp::method::Method;
use sngp::metrics::{Classification, Detection, false_discovery_limit};
use sngp::predict::{Integration, Prediction, Predictive};
use sngp::score::Score;

use crate::errors::exception;
use crate::work::detached;

/// Indices of classes as Python has them.
pub fn indices(classes: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let index = |&class: &i64| {
        usize::try_from(class)
            .map_err(|_| PyValueError::new_err(format!("class {class} is negative")))
    };
    classes.as_array().iter().map(index).collect()
}

/// A figure for probabilities `[rows, classes]` and the true classes, by the metric's name.
#[pyfunction]
pub fn classification_metric(
    py: Python<'_>,
    name: &str,
    probabilities: PyReadonlyArray2<'_, f64>,
    classes: PyReadonlyArray1<'_, i64>,
) -> PyResult<f64> {
    let metric: Classification = name.parse().map_err(exception)?;
    let (probabilities, classes) = (probabilities.as_array(), indices(&classes)?);
    detached(py, || metric.evaluate(probabilities, &classes))
}

/// A figure for an uncertainty as a detector of OOD rows, by the metric's name.
#[pyfunction]
pub fn detection_metric(
    py: Python<'_>,
    name: &str,
    scores: PyReadonlyArray1<'_, f64>,
    is_ood: PyReadonlyArray1<'_, bool>,
) -> PyResult<f64> {
    let metric: Detection = name.parse().map_err(exception)?;
    let (scores, is_ood) = (scores.as_array().to_vec(), is_ood.as_array().to_vec());
    detached(py, || metric.evaluate(&scores, &is_ood))
}

/// The uncertainty of every row of logits `[rows, classes]`, by the score's name. Where their
/// variances are given, the logits count less by `sqrt(1 + factor * variance)`.
#[pyfunction]
#[pyo3(signature = (name, logits, variance=None, factor=None))]
pub fn score<'py>(
    py: Python<'py>,
    name: &str,
    logits: PyReadonlyArray2<'py, f64>,
    variance: Option<PyReadonlyArray2<'py, f64>>,
    factor: Option<f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let score: Score = name.parse().map_err(exception)?;
    let logits = logits.as_array();
    let variance = variance.as_ref().map(|variance| variance.as_array());
    let values = detached(py, || {
        if let Some(row) = logits.outer_iter().position(|row| row.iter().any(|l| !l.is_finite())) {
            return Err(Error::Data(format!("row {row} of the logits is not finite")));
        }
        if let Some(variance) = variance.filter(|variance| {
            variance.nrows() != logits.nrows() || ![1, logits.ncols()].contains(&variance.ncols())
        }) {
            let wanted = format!("{} x 1 or x {}", logits.nrows(), logits.ncols());
            let found = format!("{} x {}", variance.nrows(), variance.ncols());
            return Err(Error::shape("the variance", wanted, found));
        }
        let integration =
            factor.map_or_else(Integration::default, |factor| Integration::MeanField { factor });
        integration.check()?;
        let prediction = Prediction {
            predictive: Predictive::Classes(integration.softmax(logits, variance)?),
            logits: logits.to_owned(),
            variance: variance.map(|variance| variance.to_owned()),
            mean_field_factor: integration.mean_field_factor(),
            hidden: None,
            detectors: None,
            combination: None,
        };
        score.evaluate(&prediction)
    })?;
    Ok(values.into_pyarray(py))
}

/// Which p-values are flagged so that on average at most a share `rate` of those is flagged falsely
/// (Benjamini-Hochberg).
#[pyfunction]
pub fn false_discovery<'py>(
    py: Python<'py>,
    p_values: PyReadonlyArray1<'py, f64>,
    rate: f64,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let p_values = p_values.as_array().to_vec();
    let limit = detached(py, || false_discovery_limit(&p_values, rate))?;
    let flagged = p_values.iter().map(|p| limit.is_some_and(|limit| *p <= limit));
    Ok(flagged.collect::<Vec<bool>>().into_pyarray(py))
}

/// Every entry of a registry with what it is: `methods`, `scores`, `classification_metrics`,
/// `detection_metrics`.
#[pyfunction]
pub fn registry(name: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    Ok(match name {
        "methods" => Method::all().iter().map(|m| (m.name(), m.summary())).collect(),
        "scores" => Score::all().iter().map(|s| (s.name(), s.summary())).collect(),
        "classification_metrics" => {
            Classification::all().iter().map(|m| (m.name(), m.summary())).collect()
        }
        "detection_metrics" => Detection::all().iter().map(|m| (m.name(), m.summary())).collect(),
        other => return Err(PyValueError::new_err(format!("no registry `{other}`"))),
    })
}

/// Distances from reference vectors whose classes are known: the detectors people would
/// otherwise use.
#[pyclass(frozen, module = "sngp")]
pub struct Detectors {
    width: usize,
    detectors: Arc<sngp::detect::Detectors>,
}

/// The scores that need nothing but fitted detectors.
const DISTANCES: [&str; 4] = ["knn", "mahalanobis", "relative_mahalanobis", "density"];

#[pymethods]
impl Detectors {
    #[new]
    fn new(
        py: Python<'_>,
        reference: PyReadonlyArray2<'_, f32>,
        classes: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<Self> {
        let (reference, classes) = (reference.as_array().to_owned(), indices(&classes)?);
        let width = reference.ncols();
        let count = classes.iter().max().map_or(0, |most| most + 1);
        let detectors = detached(py, || {
            if reference.is_empty() || reference.iter().any(|value| !value.is_finite()) {
                let message = "the reference vectors are empty or not finite";
                return Err(Error::Data(message.to_string()));
            }
            let mut detectors = sngp::detect::Detectors::new(Geometry::Plain, width, count);
            detectors.add(reference.view(), &classes)?;
            Ok(detectors)
        })?;
        Ok(Self { width, detectors: Arc::new(detectors) })
    }

    /// The names of the distances.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        DISTANCES.to_vec()
    }

    /// The distance of every vector; larger is further from the reference.
    fn distances<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        vectors: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        if !DISTANCES.contains(&name) {
            let known = DISTANCES.join(", ");
            let message = format!("unknown detector `{name}`; known: {known}");
            return Err(PyValueError::new_err(message));
        }
        let score: Score = name.parse().map_err(exception)?;
        let vectors = vectors.as_array();
        if vectors.ncols() != self.width {
            let (wanted, found) = (self.width, vectors.ncols());
            return Err(exception(Error::shape("numbers of a vector", wanted, found)));
        }
        let rows = vectors.nrows();
        let prediction = Prediction {
            predictive: Predictive::Rate(vec![0.0; rows]),
            logits: Array2::zeros((rows, 1)),
            variance: None,
            mean_field_factor: 0.0,
            hidden: Some(vectors.to_owned()),
            detectors: Some(self.detectors.clone()),
            combination: None,
        };
        let distances = detached(py, || score.evaluate(&prediction))?;
        Ok(distances.into_pyarray(py))
    }
}
