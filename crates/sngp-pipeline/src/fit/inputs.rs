//! Prepared rows as inputs of a training.

use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};
use ndarray::Array2;
use sngp::data::Inputs;
use sngp_records::Matrix;

/// Some rows of an array that may be larger than memory.
#[derive(Clone)]
pub(super) struct MappedVectors {
    matrix: Arc<Matrix>,
    rows: Vec<usize>,
}

impl MappedVectors {
    pub fn new(matrix: Arc<Matrix>, rows: Vec<usize>) -> Self {
        Self { matrix, rows }
    }

    fn gather(&self, rows: &[usize]) -> Vec<f32> {
        let width = self.matrix.columns();
        let mut values = Vec::with_capacity(rows.len() * width);
        let mut one = Vec::with_capacity(width);
        for &row in rows {
            match self.matrix.as_slice() {
                Some(all) => {
                    let start = self.rows[row] * width;
                    values.extend_from_slice(&all[start..start + width]);
                }
                None => {
                    self.matrix.read_rows(self.rows[row], 1, &mut one);
                    values.extend_from_slice(&one);
                }
            }
        }
        values
    }

    /// Some of them in memory.
    pub fn load(&self, rows: &[usize]) -> Array2<f32> {
        Array2::from_shape_vec((rows.len(), self.matrix.columns()), self.gather(rows))
            .expect("every row has the matrix's width")
    }

    pub fn rows(&self) -> usize {
        self.rows.len()
    }
}

impl Inputs<Tensor<2>> for MappedVectors {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn batch(&self, rows: &[usize], device: &Device) -> Tensor<2> {
        let shape = [rows.len(), self.matrix.columns()];
        Tensor::from_data(TensorData::new(self.gather(rows), shape), device)
    }
}
