//! The checks every model here makes of its data, once.

use ndarray::{Array2, ArrayView2};

pub(super) use crate::nn::check_length_scale;
use crate::{Error, Result};

/// The most training rows an exact Gaussian process accepts: memory grows with their square, time
/// with their cube.
pub const MAX_POINTS: usize = 5_000;

/// The most training rows times classes an exact Gaussian process classifier accepts. With
/// [`MAX_POINTS`] it keeps a fit within about 3 GB and a few minutes.
pub const MAX_LATENTS: usize = 20_000;

/// Checked training data of a classifier.
#[derive(Clone, Debug)]
pub(super) struct Training {
    pub(super) inputs: Array2<f64>,
    pub(super) labels: Vec<usize>,
    pub(super) classes: usize,
    pub(super) length_scale: f64,
}

impl Training {
    pub(super) fn new(
        inputs: ArrayView2<f64>,
        labels: &[usize],
        classes: usize,
        length_scale: f64,
    ) -> Result<Self> {
        check_length_scale(length_scale)?;
        if classes < 2 {
            let rule = "an exact GP classifier needs at least two classes";
            return Err(Error::config("classes", classes, rule));
        }
        check_training_inputs(inputs)?;
        if inputs.nrows().saturating_mul(classes) > MAX_LATENTS {
            return Err(Error::Data(format!(
                "{} training rows times {classes} classes is more than {MAX_LATENTS}: the exact \
                 GP is for small data; take fewer rows or a random-feature GP such as `sngp`",
                inputs.nrows(),
            )));
        }
        if labels.len() != inputs.nrows() {
            return Err(Error::shape("labels", inputs.nrows(), labels.len()));
        }
        if let Some(row) = labels.iter().position(|&label| label >= classes) {
            let label = labels[row];
            return Err(Error::Data(format!(
                "label {label} of row {row} is out of range: there are {classes} classes, \
                 numbered from 0"
            )));
        }
        if labels.iter().all(|&label| label == labels[0]) {
            return Err(Error::Data(format!(
                "every label is {}: at least two classes are needed in the training data",
                labels[0]
            )));
        }
        let inputs = inputs.as_standard_layout().into_owned();
        Ok(Self { inputs, labels: labels.to_vec(), classes, length_scale })
    }
}

/// Training inputs: not empty, not too many, finite.
pub(super) fn check_training_inputs(inputs: ArrayView2<f64>) -> Result<()> {
    if inputs.is_empty() {
        return Err(Error::Data(format!(
            "training inputs are empty: {} rows of {} columns",
            inputs.nrows(),
            inputs.ncols()
        )));
    }
    if inputs.nrows() > MAX_POINTS {
        return Err(Error::Data(format!(
            "{} training rows are more than {MAX_POINTS}: the exact GP is for small data; take \
             fewer rows or a random-feature GP such as `sngp`",
            inputs.nrows(),
        )));
    }
    check_finite("training inputs", inputs)
}

/// Test inputs: as wide as the training inputs, and finite. No rows at all is fine.
pub(super) fn check_test_inputs(test: ArrayView2<f64>, columns: usize) -> Result<()> {
    if test.ncols() != columns {
        return Err(Error::shape("columns of the test inputs", columns, test.ncols()));
    }
    check_finite("test inputs", test)
}

pub(super) fn check_finite(what: &str, values: ArrayView2<f64>) -> Result<()> {
    match values.indexed_iter().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some(((row, column), value)) => Err(Error::Data(format!(
            "{what}: row {row}, column {column} is {value}; every value has to be finite"
        ))),
    }
}
