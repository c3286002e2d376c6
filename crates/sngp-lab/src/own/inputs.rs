//! Prepared rows as inputs of a training.

use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};
use ndarray::Array2;
use sngp::data::Inputs;

use crate::records::Matrix;

/// Some rows of an array that may be larger than memory.
pub(super) struct MappedVectors {
    pub matrix: Arc<Matrix>,
    pub rows: Vec<usize>,
}

impl MappedVectors {
    fn gather(&self, rows: &[usize], values: &mut Vec<f32>) {
        let width = self.matrix.columns();
        match self.matrix.as_slice() {
            Some(all) => {
                for &row in rows {
                    let start = self.rows[row] * width;
                    values.extend_from_slice(&all[start..start + width]);
                }
            }
            None => {
                let mut one = Vec::with_capacity(width);
                for &row in rows {
                    one.clear();
                    self.matrix.read_rows(self.rows[row], 1, &mut one);
                    values.extend_from_slice(&one);
                }
            }
        }
    }

    /// All of them in memory.
    pub fn load(&self) -> Array2<f32> {
        let rows: Vec<usize> = (0..self.rows.len()).collect();
        let mut values = Vec::with_capacity(rows.len() * self.matrix.columns());
        self.gather(&rows, &mut values);
        Array2::from_shape_vec((rows.len(), self.matrix.columns()), values)
            .expect("every row has the matrix's width")
    }
}

impl Inputs<Tensor<2>> for MappedVectors {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn batch(&self, rows: &[usize], device: &Device) -> Tensor<2> {
        let mut values = Vec::with_capacity(rows.len() * self.matrix.columns());
        self.gather(rows, &mut values);
        Tensor::from_data(TensorData::new(values, [rows.len(), self.matrix.columns()]), device)
    }
}

/// Images `[3, size, size]`, one a row.
pub(super) struct ImageRows {
    pub pixels: Array2<f32>,
    pub size: usize,
}

impl Inputs<Tensor<4>> for ImageRows {
    fn rows(&self) -> usize {
        self.pixels.nrows()
    }

    fn batch(&self, rows: &[usize], device: &Device) -> Tensor<4> {
        let values: Vec<f32> =
            self.pixels.select(ndarray::Axis(0), rows).into_raw_vec_and_offset().0;
        let shape = [rows.len(), 3, self.size, self.size];
        Tensor::from_data(TensorData::new(values, shape), device)
    }
}
