//! Rows of Python as a data set.

use std::ffi::CStr;
use std::path::PathBuf;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use numpy::{PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyFloat, PyInt, PyString};
use sngp::Error;
use sngp_pipeline::input::{Body, Dataset, Place};
use sngp_records::Cell;
use sngp_records::image::Picture;

use crate::errors::exception;
use crate::work::detached;

const STREAM: &CStr = c"arrow_array_stream";

/// Rows to learn from or to be answered, with or without labels.
#[pyclass(frozen, module = "sngp")]
pub struct Rows {
    pub set: Dataset,
}

type Labels = Option<Vec<String>>;

impl Rows {
    fn labelled(set: Dataset, labels: Labels) -> PyResult<Self> {
        let set = match labels {
            Some(labels) => set.with_labels(labels).map_err(exception)?,
            None => set,
        };
        Ok(Self { set })
    }
}

#[pymethods]
impl Rows {
    /// Vectors of any model, one a row, such as embeddings.
    #[staticmethod]
    #[pyo3(signature = (vectors, labels=None))]
    fn vectors(
        py: Python<'_>,
        vectors: PyReadonlyArray2<'_, f32>,
        labels: Labels,
    ) -> PyResult<Self> {
        let vectors = vectors.as_array();
        Self::labelled(detached(py, || Dataset::of_vectors(vectors))?, labels)
    }

    /// A table of numbers; columns without names are `x1`, `x2`, ..
    #[staticmethod]
    #[pyo3(signature = (numbers, names=None, labels=None))]
    fn numbers(
        py: Python<'_>,
        numbers: PyReadonlyArray2<'_, f64>,
        names: Option<Vec<String>>,
        labels: Labels,
    ) -> PyResult<Self> {
        let numbers = numbers.as_array();
        let columns = numbers.ncols();
        let names = names.unwrap_or_else(|| (1..=columns).map(|i| format!("x{i}")).collect());
        let set = detached(py, || {
            let cell = |&value: &f64| {
                if value.is_nan() { Cell::Missing } else { Cell::Number(value) }
            };
            let rows = numbers.outer_iter().map(|row| row.iter().map(cell).collect());
            if names.len() != columns {
                return Err(Error::shape("names of the columns", columns, names.len()));
            }
            Dataset::of_cells(names, rows.collect())
        })?;
        Self::labelled(set, labels)
    }

    /// A table with the Arrow PyCapsule interface: pyarrow, polars, pandas, duckdb, ..
    #[staticmethod]
    #[pyo3(signature = (table, labels=None))]
    fn arrow(py: Python<'_>, table: &Bound<'_, PyAny>, labels: Labels) -> PyResult<Self> {
        let capsule = table.call_method0("__arrow_c_stream__")?;
        let capsule = capsule.cast::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: the interface promises that a capsule of this name holds a stream; `from_raw`
        // moves it out and leaves a released one, as the interface asks of a consumer.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
        let reader = reader.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Self::labelled(detached(py, || Dataset::of_batches(reader))?, labels)
    }

    /// A table as lists of numbers, texts, booleans and `None`, one a column.
    #[staticmethod]
    #[pyo3(signature = (names, columns, labels=None))]
    fn columns(
        names: Vec<String>,
        columns: Vec<Vec<Bound<'_, PyAny>>>,
        labels: Labels,
    ) -> PyResult<Self> {
        let count = columns.first().map_or(0, Vec::len);
        if let Some(other) = columns.iter().find(|column| column.len() != count) {
            return Err(exception(Error::shape("values of a column", count, other.len())));
        }
        let row = |row: usize| columns.iter().map(|column| cell(&column[row])).collect();
        let rows = (0..count).map(row).collect::<PyResult<_>>()?;
        Self::labelled(Dataset::of_cells(names, rows).map_err(exception)?, labels)
    }

    /// Texts.
    #[staticmethod]
    #[pyo3(signature = (texts, labels=None))]
    fn texts(texts: Vec<String>, labels: Labels) -> PyResult<Self> {
        Self::labelled(Dataset::of_texts(texts), labels)
    }

    /// Images as arrays `[height, width, 3]` of bytes, of any size each.
    #[staticmethod]
    #[pyo3(signature = (images, labels=None))]
    fn images(images: Vec<PyReadonlyArray3<'_, u8>>, labels: Labels) -> PyResult<Self> {
        let picture = |image: &PyReadonlyArray3<'_, u8>| {
            let image = image.as_array();
            let (height, width, channels) = image.dim();
            if channels != 3 {
                let message = format!("an image has {channels} channels, but red, green, blue");
                return Err(PyValueError::new_err(message));
            }
            let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
            Picture::from_rgb(side(width), side(height), image.iter().copied().collect())
                .map_err(|error| PyValueError::new_err(error.to_string()))
        };
        let pictures = images.iter().map(picture).collect::<PyResult<_>>()?;
        Self::labelled(Dataset::of_pictures(pictures), labels)
    }

    /// Images by the paths of their files.
    #[staticmethod]
    #[pyo3(signature = (paths, labels=None, folder=None))]
    fn paths(paths: Vec<PathBuf>, labels: Labels, folder: Option<PathBuf>) -> PyResult<Self> {
        let rows = paths.iter().map(|path| vec![Cell::Text(path.display().to_string())]);
        let set = Dataset::of_cells(vec!["path".to_string()], rows.collect()).map_err(exception)?;
        Self::labelled(Dataset { folder: folder.unwrap_or_default(), ..set }, labels)
    }

    /// A file: a table, arrays as `FILE:VECTORS`, or a folder of images, as `sngp train` reads it. An
    /// address in object storage (`s3://BUCKET/KEY`) may stand for the file. `label` is the column or
    /// array of labels.
    #[staticmethod]
    #[pyo3(signature = (data, label=None))]
    fn read(py: Python<'_>, data: PathBuf, label: Option<String>) -> PyResult<Self> {
        let place = Place::parse(&data.to_string_lossy());
        let read = || Dataset::read(&place, label.as_deref(), label.is_some());
        Ok(Self { set: detached(py, read)? })
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.set.rows()
    }

    fn __repr__(&self) -> String {
        let what = match &self.set.body {
            Body::Rows { names, .. } => format!("columns {}", names.join(", ")),
            Body::Vectors { matrix, .. } => format!("vectors of {} numbers", matrix.columns()),
            Body::Pictures { .. } => "images".to_string(),
        };
        let labels = if self.set.labels.is_some() { ", labelled" } else { "" };
        format!("Rows({} rows: {what}{labels})", self.set.rows())
    }
}

fn cell(value: &Bound<'_, PyAny>) -> PyResult<Cell> {
    if value.is_none() {
        return Ok(Cell::Missing);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Cell::Bool(value.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Cell::Text(text.to_str()?.to_string()));
    }
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
        let number: f64 = value.extract()?;
        return Ok(if number.is_nan() { Cell::Missing } else { Cell::Number(number) });
    }
    let message =
        format!("a cell is a number, a text, a boolean or None, not {}", value.get_type());
    Err(PyTypeError::new_err(message))
}
