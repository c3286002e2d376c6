//! What a model predicts, as arrays.

use numpy::{IntoPyArray, PyArray1, PyArray2, ToPyArray};
use pyo3::prelude::*;
use sngp::predict::{Prediction as Predicted, Predictive};
use sngp::score::Score;

use crate::errors::exception;
use crate::work::detached;

/// The predictive distribution of some rows, and what it was made from.
#[pyclass(frozen, module = "sngp")]
pub struct Prediction {
    pub predicted: Predicted,
    pub units: Units,
}

/// What numbers are predicted in units of.
pub struct Units {
    /// The mean of the training targets.
    pub mean: f64,
    /// Their deviation.
    pub scale: f64,
    /// The same for deviations, which held-out errors have a say in.
    pub deviation: f64,
}

type Matrix<'py> = Bound<'py, PyArray2<f64>>;
type Vector<'py> = Bound<'py, PyArray1<f64>>;

#[pymethods]
impl Prediction {
    /// Probabilities `[rows, classes]`: the model's own, or those of the minimax predictive.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Matrix<'py>> {
        let stated = detached(py, || Ok(self.predicted.stated_probabilities()?.into_owned()))?;
        Ok(stated.into_pyarray(py))
    }

    /// Logits `[rows, classes]`, made smaller by their variance: far from the data they fade.
    #[getter]
    fn logits<'py>(&self, py: Python<'py>) -> PyResult<Matrix<'py>> {
        let logits = detached(py, || self.predicted.class_logits())?;
        Ok(logits.into_pyarray(py))
    }

    /// Mean logits `[rows, outputs]` of the posterior.
    #[getter]
    fn mean_logits<'py>(&self, py: Python<'py>) -> Matrix<'py> {
        self.predicted.logits.to_pyarray(py)
    }

    /// Variances `[rows, 1 or outputs]` of the logits, or `None` for methods without.
    #[getter]
    fn variance<'py>(&self, py: Python<'py>) -> Option<Matrix<'py>> {
        Some(self.predicted.variance.as_ref()?.to_pyarray(py))
    }

    /// Means of a predicted number, or `None` for classes.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Option<Vector<'py>> {
        let Units { mean: centre, scale, .. } = self.units;
        let mean = match &self.predicted.predictive {
            Predictive::Normal { mean, .. } => mean,
            Predictive::Rate(rate) => rate,
            Predictive::Classes(_) => return None,
        };
        let mean: Vec<f64> = mean.iter().map(|value| value * scale + centre).collect();
        Some(mean.into_pyarray(py))
    }

    /// Standard deviations of a predicted number, its noise included, or `None` for others.
    #[getter]
    fn deviation<'py>(&self, py: Python<'py>) -> Option<Vector<'py>> {
        let Predictive::Normal { variance, .. } = &self.predicted.predictive else { return None };
        let scale = self.units.deviation;
        let deviation: Vec<f64> = variance.iter().map(|value| value.sqrt() * scale).collect();
        Some(deviation.into_pyarray(py))
    }

    /// The uncertainty of every row by the score of a name; higher is less certain.
    fn score<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vector<'py>> {
        let score: Score = name.parse().map_err(exception)?;
        let values = detached(py, || score.evaluate(&self.predicted))?;
        Ok(values.into_pyarray(py))
    }

    fn __len__(&self) -> usize {
        self.predicted.rows()
    }
}
