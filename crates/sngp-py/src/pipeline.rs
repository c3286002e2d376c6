//! A pipeline that is fitted, asked, calibrated, updated and saved.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use burn::tensor::Device;
use pyo3::exceptions::{PyFileNotFoundError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;
use sngp::Error;
use sngp::posterior::{precisions_from_bytes, precisions_to_bytes};
use sngp_pipeline::calibrate::Goal;
use sngp_pipeline::input::{Kind, Prepared};
use sngp_pipeline::{Detail, Options, Pipeline as Fitted, Target, Task};

use crate::answers::columns;
use crate::errors::exception;
use crate::prediction::{Prediction, Units};
use crate::rows::Rows;
use crate::work::{detached, interruptible};

/// Rows between two looks at whether somebody pressed Ctrl-C.
const CHUNK: usize = 16_384;

/// Everything between a raw row and an answer: preparation, network, posterior, guard, decision.
#[pyclass(frozen, module = "sngp")]
pub struct Pipeline {
    fitted: RwLock<Fitted>,
    remarks: Vec<String>,
}

impl Pipeline {
    pub fn new(fitted: Fitted, remarks: Vec<String>) -> Self {
        Self { fitted: RwLock::new(fitted), remarks }
    }

    /// A change that panicked has changed nothing that could be read half done: it replaces parts
    /// as a whole.
    pub fn read(&self) -> RwLockReadGuard<'_, Fitted> {
        self.fitted.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Fitted> {
        self.fitted.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Rows `start..end` as the model takes them; a row that cannot be used is an error.
    fn prepared(&self, rows: &Rows, start: usize, end: usize) -> sngp::Result<Prepared> {
        let model = self.read();
        let some: Vec<usize> = (start..end).collect();
        let prepared = model.card().preparation.prepare(&rows.set, &some)?.all();
        prepared.map_err(|(row, bad)| {
            let row = start + row + 1;
            Error::Data(format!("row {row}, column `{}`: {}", bad.column, bad.reason))
        })
    }
}

#[pymethods]
impl Pipeline {
    /// Fits a pipeline to labelled rows. Options are those of `sngp train`.
    #[staticmethod]
    #[pyo3(signature = (rows, validation=None, **options))]
    fn fit(
        py: Python<'_>,
        rows: &Rows,
        validation: Option<PyRef<'_, Rows>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = options.map_or_else(|| Ok(Options::default()), read_options)?;
        let validation = validation.as_ref().map(|rows| &rows.set);
        let fitted = interruptible(py, |interrupter| {
            let interrupter = interrupter.clone();
            Fitted::fit(&rows.set, validation, &Options { interrupter, ..options })
        })?;
        Ok(Self::new(fitted.pipeline, fitted.remarks))
    }

    /// Loads and verifies a model folder, such as one that `sngp train` wrote.
    #[staticmethod]
    fn load(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let fitted = detached(py, || Fitted::load(&folder, &Device::flex())).map_err(|error| {
            // Python has an exception of its own for this.
            if folder.exists() { error } else { PyFileNotFoundError::new_err(error.to_string()) }
        })?;
        Ok(Self::new(fitted, Vec::new()))
    }

    /// Saves it as a folder, whole or not at all.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        detached(py, || self.write().save(&folder))
    }

    /// What the network predicts. A row that cannot be used is a `ValueError`.
    fn predict(&self, py: Python<'_>, rows: &Rows) -> PyResult<Prediction> {
        let mut parts = Vec::new();
        for start in (0..rows.set.rows()).step_by(CHUNK) {
            py.check_signals()?;
            let end = rows.set.rows().min(start + CHUNK);
            parts.push(detached(py, || {
                let inputs = self.prepared(rows, start, end)?;
                self.read().predict(&inputs)
            })?);
        }
        let predicted = sngp::predict::Prediction::concatenate(parts).map_err(exception)?;
        let units = match self.read().card().task {
            Task::Regression { mean, scale, spread, .. } => {
                Units { mean, scale, deviation: scale * spread.sqrt() }
            }
            Task::Classification { .. } => Units { mean: 0.0, scale: 1.0, deviation: 1.0 },
        };
        Ok(Prediction { predicted, units })
    }

    /// The answer to every row, as columns: what is predicted, how uncertain it is, whether it is
    /// accepted, and why not. A row that cannot be used is answered as such. With `fdr`, rows are
    /// flagged as OOD, on average at most that share of the flagged ones falsely.
    #[pyo3(signature = (rows, probabilities=false, fdr=None))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        probabilities: bool,
        fdr: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        // What cannot be promised is said before anything is computed.
        fdr.map(|rate| self.read().flags_of(rate, &[])).transpose().map_err(exception)?;
        let mut answers = Vec::with_capacity(rows.set.rows());
        for start in (0..rows.set.rows()).step_by(CHUNK) {
            py.check_signals()?;
            let some: Vec<usize> = (start..rows.set.rows().min(start + CHUNK)).collect();
            answers.extend(detached(py, || {
                let model = self.read();
                let prepared = model.card().preparation.prepare(&rows.set, &some)?;
                model.answer_prepared(prepared, Detail { probabilities, ..Default::default() })
            })?);
        }
        if let Some(rate) = fdr {
            let flags = self.read().flags(rate, &answers).map_err(exception)?;
            answers.iter_mut().for_each(|answer| flags.apply(answer));
        }
        columns(py, &answers, &self.read().signature())
    }

    /// Hidden vectors: what the output layer sees.
    fn hidden<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
    ) -> PyResult<Bound<'py, numpy::PyArray2<f32>>> {
        let hidden = detached(py, || {
            let inputs = self.prepared(rows, 0, rows.set.rows())?;
            self.read().hidden(&inputs)
        })?;
        Ok(numpy::IntoPyArray::into_pyarray(hidden, py))
    }

    /// Chooses when it abstains, by held-out rows: by the share of wrong answers among those
    /// accepted, by the share of rows rejected, or by a threshold of the score.
    /// `on_average` and `per_class` say how those hold; `minimax` whether probabilities go to uniform
    /// away from these rows.
    #[pyo3(signature = (rows, *, max_error=None, confidence=0.95, on_average=false, max_abstain=None, threshold=None, per_class=false, score=None, minimax=None))]
    fn calibrate(
        &self,
        py: Python<'_>,
        rows: &Rows,
        max_error: Option<f64>,
        confidence: f64,
        on_average: bool,
        max_abstain: Option<f64>,
        threshold: Option<f64>,
        per_class: bool,
        score: Option<&str>,
        minimax: Option<bool>,
    ) -> PyResult<Vec<String>> {
        let goal = match (max_error, max_abstain, threshold) {
            (Some(share), None, None) if on_average => Some(Goal::MeanError { share }),
            (Some(share), None, None) => Some(Goal::MaxError { share, confidence }),
            (None, Some(share), None) => Some(Goal::MaxAbstain { share }),
            (None, None, Some(value)) => Some(Goal::Threshold { value }),
            (None, None, None) if minimax.is_some() => None,
            _ => {
                let message = "say one of max_error, max_abstain and threshold";
                return Err(PyValueError::new_err(message));
            }
        };
        let score = score.map(|name| name.parse().map_err(exception)).transpose()?;
        let goal = goal.map(|goal| if per_class { Goal::PerClass(Box::new(goal)) } else { goal });
        detached(py, || {
            let mut model = self.write();
            let mut remarks = Vec::new();
            if let Some(goal) = &goal {
                remarks = model.calibrate(&rows.set, goal, score)?.remarks;
            }
            match minimax {
                Some(true) => {
                    let mixed = model.use_minimax(&rows.set)?.remarks;
                    remarks = if goal.is_some() { remarks } else { mixed };
                }
                Some(false) => model.use_own_probabilities(),
                None => {}
            }
            Ok(remarks)
        })
    }

    /// Lets the variance know about more rows; what it knew fades by `decay` first.
    #[pyo3(signature = (rows, decay=None))]
    fn update(&self, py: Python<'_>, rows: &Rows, decay: Option<f64>) -> PyResult<()> {
        detached(py, || {
            let mut model = self.write();
            let part = model.accumulate(&rows.set)?;
            model.update(&part, decay)
        })
    }

    /// Lets the variance forget rows that it knows.
    fn forget(&self, py: Python<'_>, rows: &Rows) -> PyResult<()> {
        detached(py, || {
            let mut model = self.write();
            let part = model.accumulate(&rows.set)?;
            model.forget(&part)
        })
    }

    /// The part of the posterior that some rows are, as bytes that `merge` takes.
    fn accumulate<'py>(&self, py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || {
            let part = self.read().accumulate(&rows.set)?;
            precisions_to_bytes(&part.precisions)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The posterior itself, as such bytes.
    fn precision<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || precisions_to_bytes(&self.read().model().precisions()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Replaces the posterior by the sum of parts, such as those of several machines; the number
    /// of rows in it.
    fn merge(&self, py: Python<'_>, parts: Vec<PyBackedBytes>) -> PyResult<u64> {
        detached(py, || {
            let parts: sngp::Result<Vec<_>> =
                parts.iter().map(|bytes| precisions_from_bytes(bytes)).collect();
            self.write().merge(&parts?)
        })
    }

    /// Rows that the posterior knows of, or `None` for a method without one.
    #[getter]
    fn posterior_rows(&self) -> Option<u64> {
        self.read().posterior_rows()
    }

    /// The names of the classes, in the order of their probabilities; none for numbers.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.read().labels().to_vec()
    }

    /// The score it is uncertain by.
    #[getter]
    fn score(&self) -> String {
        self.read().score().to_string()
    }

    /// Remarks about the data it was fitted to.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    /// Inputs and outputs by name, for servers and forms.
    fn signature<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &self.read().signature())
    }

    /// What it says about itself: its card, and when it abstains.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let model = self.read();
        let config = model.model().config();
        parsed(
            py,
            &json!({
                "card": model.card(), "decision": model.decision(),
                "method": config.method.to_string(), "input": model.card().preparation.describe(),
                "kind": kind_name(&model), "features": config.gaussian_process.features.count,
                "length_scale": config.gaussian_process.features.length_scale,
                "l2": config.gaussian_process.l2, "seed": config.seed,
            }),
        )
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        let (py, own) = (slf.py(), slf.get());
        let files = detached(py, || {
            let folder = tempfile::tempdir().map_err(Error::io("a temporary folder"))?;
            let folder = folder.path().join("model");
            own.write().save(&folder)?;
            read_files(&folder)
        })?;
        let state = PyDict::new(py);
        for (name, bytes) in files {
            state.set_item(name, PyBytes::new(py, &bytes))?;
        }
        Ok((slf.get_type().getattr("_restore")?, (state,)))
    }

    /// From the files of a model's folder.
    #[staticmethod]
    fn _restore(py: Python<'_>, files: BTreeMap<String, PyBackedBytes>) -> PyResult<Self> {
        let fitted = detached(py, || {
            let folder = tempfile::tempdir().map_err(Error::io("a temporary folder"))?;
            for (name, bytes) in &files {
                // The state of a pickle may come from anywhere.
                let plain = Path::new(name).file_name().is_some_and(|own| own == name.as_str());
                if !plain {
                    return Err(Error::Data(format!("`{name}` is no name of a file")));
                }
                let path = folder.path().join(name);
                fs::write(&path, bytes).map_err(Error::io(path))?;
            }
            Fitted::load(folder.path(), &Device::flex())
        })?;
        Ok(Self::new(fitted, Vec::new()))
    }

    fn __repr__(&self) -> String {
        let model = self.read();
        let (method, input) = (&model.model().config().method, model.card().preparation.describe());
        format!("Pipeline({method}; {input})")
    }
}

fn read_files(folder: &Path) -> sngp::Result<Vec<(String, Vec<u8>)>> {
    let entries = fs::read_dir(folder).map_err(Error::io(folder))?;
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.map_err(Error::io(folder))?;
        let bytes = fs::read(entry.path()).map_err(Error::io(entry.path()))?;
        Ok((entry.file_name().to_string_lossy().into_owned(), bytes))
    };
    entries.map(file).collect()
}

/// A value as Python's own dictionaries and lists.
pub fn parsed<'py>(py: Python<'py>, value: &impl serde::Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text =
        serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

fn kind_name(model: &Fitted) -> &'static str {
    use sngp_pipeline::input::Preparation;
    match model.card().preparation {
        Preparation::Table(_) | Preparation::Numbers { .. } => "table",
        Preparation::Ngrams(_) | Preparation::Texts(_) | Preparation::Sentences { .. } => "text",
        Preparation::Vectors { .. } => "vectors",
        Preparation::Images(_) => "images",
        Preparation::Encoded(ref encoded) if encoded.takes_text() => "text",
        Preparation::Encoded(_) => "images",
    }
}

/// Options by their names.
fn read_options(given: &Bound<'_, PyDict>) -> PyResult<Options<'static>> {
    // Labels are given as such here, and not by the name of a column.
    let mut options = Options { many_classes: true, ..Default::default() };
    for (name, value) in given {
        let name: String = name.extract()?;
        match name.as_str() {
            "kind" => options.kind = kind(value.extract()?)?,
            "label" => options.label = value.extract()?,
            "ignore" => options.ignore = value.extract()?,
            "target" => options.target = target(value.extract()?)?,
            "method" => {
                let name: String = value.extract()?;
                options.method = name.parse().map_err(exception)?;
            }
            "features" => options.features = value.extract()?,
            "length_scale" => options.length_scale = value.extract()?,
            "l2" => options.l2 = value.extract()?,
            "epochs" => options.epochs = value.extract()?,
            "tune" => options.tune = value.extract()?,
            "budget" => {
                options.budget = Duration::try_from_secs_f64(value.extract()?)
                    .map_err(|error| PyValueError::new_err(format!("budget: {error}")))?;
            }
            "encoder" => options.encoder = value.extract()?,
            "fine_tune" => options.fine_tune = value.extract()?,
            "keep_classifier" => options.keep_classifier = value.extract()?,
            "max_tokens" => options.max_tokens = value.extract()?,
            "prompt" => options.prompt = value.extract()?,
            "minimax" => options.minimax = value.extract()?,
            "image_size" => options.image_size = value.extract()?,
            "seed" => options.seed = value.extract()?,
            other => {
                return Err(PyTypeError::new_err(format!("fit() has no option `{other}`")));
            }
        }
    }
    Ok(options)
}

fn kind(name: Option<(String, Option<String>)>) -> PyResult<Option<Kind>> {
    let Some((name, column)) = name else { return Ok(None) };
    Ok(Some(match (name.as_str(), column) {
        ("table", None) => Kind::Table,
        ("text", Some(column)) => Kind::Text(column),
        ("vectors", Some(column)) => Kind::Vectors(column),
        ("images", Some(column)) => Kind::Images(column),
        (other, _) => {
            let message = format!(
                "kind is (\"{other}\", ..), but it must be (\"table\", None), or \"text\", \
                 \"vectors\" or \"images\" with a column"
            );
            return Err(PyValueError::new_err(message));
        }
    }))
}

fn target(name: &str) -> PyResult<Target> {
    match name {
        "classes" => Ok(Target::Classes),
        "numbers" => Ok(Target::Numbers),
        other => {
            let message = format!("target is `{other}`, but it must be `classes` or `numbers`");
            Err(PyValueError::new_err(message))
        }
    }
}
