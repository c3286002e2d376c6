//! A head fitted by sums of rows that lie anywhere.

use burn::tensor::Device;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use sngp::Error;
use sngp::model::{LossSum, ModelConfig, OutputPlan};
use sngp::posterior::{Curvature, Precision, precisions_from_bytes, precisions_to_bytes};
use sngp_pipeline::Pipeline as Fitted;
use sngp_pipeline::fit::{median_length_scale, normalized};

use crate::errors::exception;
use crate::measures::indices;
use crate::pipeline::Pipeline;
use crate::rows::Rows;
use crate::work::detached;

/// What all machines agree on: width, classes and the random features.
#[pyclass(frozen, module = "sngp")]
pub struct HeadPlan {
    width: usize,
    labels: Vec<String>,
    features: usize,
    length_scale: f64,
    l2: f64,
    seed: u64,
    plan: OutputPlan,
}

type Arguments = (usize, Vec<String>, usize, f64, f64, u64);

#[pymethods]
impl HeadPlan {
    #[new]
    #[pyo3(signature = (width, labels, features=1024, length_scale=1.0, l2=0.02, seed=0))]
    fn new(
        py: Python<'_>,
        width: usize,
        labels: Vec<String>,
        features: usize,
        length_scale: f64,
        l2: f64,
        seed: u64,
    ) -> PyResult<Self> {
        let mut config = ModelConfig { seed, ..Default::default() };
        config.gaussian_process.features.count = features;
        config.gaussian_process.features.length_scale = length_scale;
        config.gaussian_process.features.layer_norm = true;
        config.gaussian_process.l2 = l2;
        config.posterior.curvature = Some(Curvature::Gaussian);
        if width > features {
            config.gaussian_process.features.kind = sngp::nn::FeatureKind::Gaussian;
        }
        let names = labels.clone();
        let plan = detached(py, || OutputPlan::new(config, width, names, &Device::flex()))?;
        Ok(Self { width, labels, features, length_scale, l2, seed, plan })
    }

    /// The length scale that suits vectors like those of a sample.
    #[staticmethod]
    fn length_scale_of(py: Python<'_>, sample: PyReadonlyArray2<'_, f32>) -> PyResult<f64> {
        let sample = sample.as_array();
        detached(py, || {
            let step = sample.nrows().div_ceil(1000).max(1);
            let some: Vec<usize> = (0..sample.nrows()).step_by(step).collect();
            let some = sample.select(numpy::ndarray::Axis(0), &some);
            Ok(median_length_scale(normalized(&some).view()))
        })
    }

    /// The precision that rows add, as bytes.
    fn accumulate<'py>(
        &self,
        py: Python<'py>,
        vectors: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let vectors = vectors.as_array();
        let bytes = detached(py, || precisions_to_bytes(&[self.plan.gram(vectors)?]))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Rows, loss and gradient of rows at some weights, one after the other in an array: arrays of
    /// several machines are added.
    fn loss<'py>(
        &self,
        py: Python<'py>,
        weights: PyReadonlyArray2<'py, f64>,
        vectors: PyReadonlyArray2<'py, f32>,
        classes: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let weights: Vec<f64> = weights.as_array().iter().copied().collect();
        let (vectors, classes) = (vectors.as_array(), indices(&classes)?);
        let LossSum { rows, loss, gradient } =
            detached(py, || self.plan.loss(&weights, vectors, &classes))?;
        let sums: Vec<f64> = [rows as f64, loss].into_iter().chain(gradient).collect();
        Ok(sums.into_pyarray(py))
    }

    /// The best weights, by the precision of all rows and a function from weights to the sum of
    /// all rows' `loss`.
    #[pyo3(signature = (precision, evaluate, start=None))]
    fn weights<'py>(
        &self,
        py: Python<'py>,
        precision: PyBackedBytes,
        evaluate: Py<PyAny>,
        start: Option<PyReadonlyArray2<'py, f64>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let start = start.map(|start| start.as_array().iter().copied().collect());
        let mut raised = None;
        let found = detached(py, || {
            let gram = single(&precision)?;
            self.plan.weights(&gram, start, |weights| self.ask(&evaluate, weights, &mut raised))
        });
        if let Some(error) = raised {
            return Err(error);
        }
        let (weights, _) = found?;
        let weights = Array2::from_shape_vec(self.plan.shape(), weights)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(weights.into_pyarray(py))
    }

    /// The model of all rows. A labelled sample of them tells its guard what inputs are like; on
    /// held-out rows its probabilities are calibrated and it is chosen when it abstains.
    #[pyo3(signature = (precision, evaluate, sample, held_out, start=None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        precision: PyBackedBytes,
        evaluate: Py<PyAny>,
        sample: &Rows,
        held_out: &Rows,
        start: Option<PyReadonlyArray2<'py, f64>>,
    ) -> PyResult<Pipeline> {
        let start = start.map(|start| start.as_array().iter().copied().collect());
        let mut raised = None;
        let found = detached(py, || {
            let gram = single(&precision)?;
            let (model, found) = self
                .plan
                .solve(gram, start, |weights| self.ask(&evaluate, weights, &mut raised))?;
            let words = format!(
                "output layer solved by sums in {} iterations{}",
                found.iterations,
                if found.converged { "" } else { ", not converged" }
            );
            Fitted::of_output(model, &sample.set, &held_out.set, &words)
        });
        match raised {
            Some(error) => Err(error),
            None => Ok(Pipeline::new(found?, Vec::new())),
        }
    }

    /// Features and classes: the shape of the weights.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let [features, outputs] = self.plan.shape();
        (features, outputs)
    }

    /// The names of the classes.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.labels.clone()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, Arguments) {
        let own = slf.get();
        let arguments =
            (own.width, own.labels.clone(), own.features, own.length_scale, own.l2, own.seed);
        (slf.get_type().into_any(), arguments)
    }
}

impl HeadPlan {
    /// Asks Python for the sums at some weights. What it raises is kept, to be raised again.
    fn ask(
        &self,
        evaluate: &Py<PyAny>,
        weights: &[f64],
        raised: &mut Option<PyErr>,
    ) -> sngp::Result<LossSum> {
        let sums = Python::attach(|py| -> PyResult<Vec<f64>> {
            let weights = Array2::from_shape_vec(self.plan.shape(), weights.to_vec())
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            let sums = evaluate.call1(py, (weights.into_pyarray(py),))?;
            let sums: PyReadonlyArray1<'_, f64> = sums.extract(py).map_err(|_| {
                PyTypeError::new_err(
                    "evaluate() must return an array of float64: the sum of losses",
                )
            })?;
            Ok(sums.as_array().to_vec())
        });
        let sums = sums.map_err(|error| {
            *raised = Some(error);
            Error::Training("the sums could not be computed".to_string())
        })?;
        match &sums[..] {
            [rows, loss, gradient @ ..] => {
                Ok(LossSum { rows: *rows as u64, loss: *loss, gradient: gradient.to_vec() })
            }
            _ => Err(Error::shape("numbers of the sum", weights.len() + 2, sums.len())),
        }
    }
}

fn single(bytes: &[u8]) -> sngp::Result<Precision> {
    let mut parts = precisions_from_bytes(bytes)?;
    match parts.len() {
        1 => Ok(parts.remove(0)),
        count => Err(Error::shape("precisions of a head", 1, count)),
    }
}

/// The sum of precisions, as bytes.
#[pyfunction]
pub fn merge_precisions<'py>(
    py: Python<'py>,
    parts: Vec<PyBackedBytes>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = detached(py, || {
        let mut sums: Option<Vec<Precision>> = None;
        for bytes in &parts {
            let part = precisions_from_bytes(bytes)?;
            match &mut sums {
                None => sums = Some(part),
                Some(sums) if sums.len() != part.len() => {
                    return Err(Error::shape("networks of a part", sums.len(), part.len()));
                }
                Some(sums) => {
                    sums.iter_mut().zip(&part).try_for_each(|(sum, part)| sum.merge(part))?;
                }
            }
        }
        let sums = sums.ok_or_else(|| Error::Data("there is nothing to merge".to_string()))?;
        precisions_to_bytes(&sums)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Rows in a precision.
#[pyfunction]
pub fn precision_rows(bytes: PyBackedBytes) -> PyResult<u64> {
    let parts = precisions_from_bytes(&bytes).map_err(exception)?;
    Ok(parts.first().map_or(0, Precision::rows))
}

/// The first matrix `[features, features]` of a precision.
#[pyfunction]
pub fn precision_matrix<'py>(
    py: Python<'py>,
    bytes: PyBackedBytes,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let matrix = detached(py, || {
        let parts = precisions_from_bytes(&bytes)?;
        let first = parts.first().ok_or_else(|| Error::Data("no precision".to_string()))?;
        Ok(first.matrix(0))
    })?;
    Ok(matrix.into_pyarray(py))
}
