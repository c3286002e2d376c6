//! Examples on the host, ready to become batches on a device.

use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor, TensorData};
use ndarray::ArrayView2;
use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// Inputs that can be turned into device batches of type `B`, row by row.
pub trait Inputs<B>: Send + Sync {
    /// The number of examples.
    fn rows(&self) -> usize;

    /// The given examples as one batch.
    fn batch(&self, rows: &[usize], device: &Device) -> B;

    /// The same as a training step sees them: inputs that are augmented draw from the seed alone.
    fn training_batch(&self, rows: &[usize], _seed: u64, device: &Device) -> B {
        self.batch(rows, device)
    }

    /// A hash of all examples, so that checkpoints are not continued on other data. Inputs
    /// without one are told apart by their number of rows and their targets only.
    fn digest(&self) -> Option<[u8; 32]> {
        None
    }

    /// How long an example is, e.g. a sentence in tokens. Batches are made of examples alike, so
    /// that little is padded.
    fn length(&self, _row: usize) -> usize {
        1
    }
}

/// A table of finite numbers, the inputs of vector networks.
///
/// ```
/// use ndarray::array;
/// use sngp::data::Table;
///
/// assert!(Table::new(array![[1.0, 2.0]].view()).is_ok());
/// let error = Table::new(array![[1.0, f32::NAN]].view()).unwrap_err();
/// assert_eq!(error.to_string(), "row 0, column 1: NaN is not a finite number");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    values: Vec<f32>,
    columns: usize,
}

impl Table {
    /// Checks and takes over a matrix, one example a row.
    pub fn new(values: ArrayView2<'_, f32>) -> Result<Self> {
        if values.is_empty() {
            return Err(Error::Data("the data is empty".to_string()));
        }
        if let Some(((row, column), value)) = values.indexed_iter().find(|(_, v)| !v.is_finite()) {
            return Err(Error::Data(format!(
                "row {row}, column {column}: {value} is not a finite number"
            )));
        }
        Ok(Self { values: values.iter().copied().collect(), columns: values.ncols() })
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One example.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}

impl Inputs<Tensor<2>> for Table {
    fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    fn batch(&self, rows: &[usize], device: &Device) -> Tensor<2> {
        let values: Vec<f32> = rows.iter().flat_map(|&row| self.row(row)).copied().collect();
        Tensor::from_data(TensorData::new(values, [rows.len(), self.columns]), device)
    }

    fn digest(&self) -> Option<[u8; 32]> {
        let mut hasher = Sha256::new();
        hasher.update((self.columns as u64).to_le_bytes());
        self.values.iter().for_each(|value| hasher.update(value.to_le_bytes()));
        Some(hasher.finalize().into())
    }
}

/// What is to be predicted.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// A class a row, from `0` to `classes - 1`.
    Classes {
        /// The class of every row.
        labels: Vec<usize>,
        /// How many classes there are.
        classes: usize,
    },
    /// A number a row.
    Values(Vec<f32>),
}

/// The targets of one batch on a device.
#[derive(Clone, Debug)]
pub enum TargetBatch {
    /// Class indices `[rows]`.
    Classes(Tensor<1, Int>),
    /// Numbers `[rows]`.
    Values(Tensor<1>),
}

impl Targets {
    /// Class labels, checked: none out of range, at least two classes present.
    pub fn classes(labels: Vec<usize>, classes: usize) -> Result<Self> {
        let targets = Self::Classes { labels, classes };
        targets.check()?;
        let Self::Classes { labels, .. } = &targets else { return Ok(targets) };
        let first = labels.first();
        if labels.iter().all(|label| Some(label) == first) {
            return Err(Error::Data(format!(
                "all {} labels are of one class; a classifier needs at least two",
                labels.len()
            )));
        }
        Ok(targets)
    }

    /// Numbers, checked to be finite.
    pub fn values(values: Vec<f32>) -> Result<Self> {
        let targets = Self::Values(values);
        targets.check()?;
        Ok(targets)
    }

    /// Refuses a label out of range or a number that is not finite.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Classes { labels, classes } => {
                match labels.iter().enumerate().find(|(_, label)| *label >= classes) {
                    None => Ok(()),
                    Some((row, label)) => Err(Error::Data(format!(
                        "row {row}: label {label} is out of range, there are {classes} classes"
                    ))),
                }
            }
            Self::Values(values) => match values.iter().position(|value| !value.is_finite()) {
                None => Ok(()),
                Some(row) => {
                    Err(Error::Data(format!("row {row}: target {} is not finite", values[row])))
                }
            },
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Classes { labels, .. } => labels.len(),
            Self::Values(values) => values.len(),
        }
    }

    /// The given rows on a device.
    pub fn batch(&self, rows: &[usize], device: &Device) -> TargetBatch {
        match self {
            Self::Classes { labels, .. } => {
                let labels: Vec<i64> = rows.iter().map(|&row| labels[row] as i64).collect();
                TargetBatch::Classes(Tensor::from_data(TensorData::from(labels.as_slice()), device))
            }
            Self::Values(values) => {
                let values: Vec<f32> = rows.iter().map(|&row| values[row]).collect();
                TargetBatch::Values(Tensor::from_data(TensorData::from(values.as_slice()), device))
            }
        }
    }
}

impl TargetBatch {
    /// The targets as numbers `[rows]`, classes as their index.
    pub fn numbers(&self) -> Tensor<1> {
        match self {
            Self::Classes(labels) => labels.clone().float(),
            Self::Values(values) => values.clone(),
        }
    }
}

/// Inputs with their targets.
pub struct Labelled<B> {
    /// The inputs.
    pub inputs: Arc<dyn Inputs<B>>,
    /// The targets, as many as inputs.
    pub targets: Arc<Targets>,
}

impl<B> Clone for Labelled<B> {
    fn clone(&self) -> Self {
        Self { inputs: self.inputs.clone(), targets: self.targets.clone() }
    }
}

impl<B> Labelled<B> {
    /// Pairs inputs with targets.
    pub fn new(inputs: impl Inputs<B> + 'static, targets: Targets) -> Result<Self> {
        if inputs.rows() == 0 {
            return Err(Error::Data("the data is empty".to_string()));
        }
        if inputs.rows() != targets.rows() {
            return Err(Error::shape("targets", inputs.rows(), targets.rows()));
        }
        targets.check()?;
        Ok(Self { inputs: Arc::new(inputs), targets: Arc::new(targets) })
    }

    /// The number of examples.
    pub fn rows(&self) -> usize {
        self.inputs.rows()
    }
}
