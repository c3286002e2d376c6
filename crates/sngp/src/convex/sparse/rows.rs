//! Sparse rows, and what a linear map makes of them.

use ndarray::Array2;

use crate::{Error, Result};

/// Rows of which only the numbers that are not zero are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    width: usize,
    starts: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f32>,
}

impl SparseRows {
    /// No rows yet, of a width.
    pub fn new(width: usize) -> Self {
        Self { width, starts: vec![0], places: Vec::new(), values: Vec::new() }
    }

    /// Adds a row: places and the numbers there, no place twice.
    pub fn push(&mut self, row: &[(u32, f32)]) -> Result<()> {
        for &(place, value) in row {
            if place as usize >= self.width {
                return Err(Error::shape("places of a sparse row", self.width, place as usize + 1));
            }
            if !value.is_finite() {
                return Err(Error::Data(format!("{value} in a sparse row is not finite")));
            }
        }
        self.places.extend(row.iter().map(|(place, _)| *place));
        self.values.extend(row.iter().map(|(_, value)| *value));
        self.starts.push(self.places.len());
        Ok(())
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The length of a row with its zeros.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The places and numbers of a row.
    pub fn row(&self, index: usize) -> (&[u32], &[f32]) {
        let range = self.starts[index]..self.starts[index + 1];
        (&self.places[range.clone()], &self.values[range])
    }
}

/// `z = W^T x` of a sparse row `x`.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearMap {
    /// `W [width, outputs]`.
    pub weights: Array2<f32>,
}

impl LinearMap {
    /// A map that makes zeros of everything.
    pub fn zeros(width: usize, outputs: usize) -> Self {
        Self { weights: Array2::zeros((width, outputs)) }
    }

    /// The numbers of an output.
    pub fn outputs(&self) -> usize {
        self.weights.ncols()
    }

    /// Adds the output of a row to `output`.
    pub fn apply(&self, places: &[u32], values: &[f32], output: &mut [f32]) {
        let (all, width) = (self.flat(), self.outputs());
        for (&place, &value) in places.iter().zip(values) {
            let weights = &all[place as usize * width..][..width];
            for (output, weight) in output.iter_mut().zip(weights) {
                *output += value * weight;
            }
        }
    }

    /// `W += x step^T`.
    pub(super) fn add(&mut self, places: &[u32], values: &[f32], step: &[f32]) {
        let width = self.outputs();
        let all = self.weights.as_slice_mut().expect("weights are made row by row");
        for (&place, &value) in places.iter().zip(values) {
            let weights = &mut all[place as usize * width..][..width];
            for (weight, step) in weights.iter_mut().zip(step) {
                *weight += value * step;
            }
        }
    }

    fn flat(&self) -> &[f32] {
        self.weights.as_slice().expect("weights are made row by row")
    }
}
