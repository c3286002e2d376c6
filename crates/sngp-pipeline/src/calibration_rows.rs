//! Rows a decision was chosen on, kept with the model so that it can be chosen anew.

use ndarray::{Array2, Axis};
use sngp::{Error, Result};

use crate::arrays::{NamedArrays, ReadArrays};
use crate::input::Prepared;

/// The file they are saved in, in the model's folder.
pub(crate) const ROWS: &str = "calibration.safetensors";
/// Numbers that are kept at the most: 4 MiB.
const MOST_NUMBERS: usize = 1 << 20;
const MOST_ROWS: usize = 2000;
/// Fewer rows than this choose nothing.
const FEWEST: usize = 20;

/// Prepared rows and, of classes, their labels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CalibrationRows {
    pub inputs: Array2<f32>,
    pub labels: Option<Vec<usize>>,
}

impl CalibrationRows {
    /// As many of the rows as can be kept; none of sentences, which are somebody's words, nor of
    /// rows so wide that too few of them fit.
    pub fn of(inputs: &Prepared, labels: Option<&[usize]>) -> Option<Self> {
        let vectors = inputs.vectors()?;
        let most = (MOST_NUMBERS / vectors.ncols().max(1)).min(MOST_ROWS).min(vectors.nrows());
        if most < FEWEST.min(vectors.nrows()) {
            return None;
        }
        // Evenly spread ones: a file may be sorted by label.
        let rows: Vec<usize> = (0..most).map(|k| k * vectors.nrows() / most).collect();
        let labels = labels.map(|labels| rows.iter().map(|&row| labels[row]).collect());
        Some(Self { inputs: vectors.select(Axis(0), &rows), labels })
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut arrays = NamedArrays::default();
        let values: Vec<f32> = self.inputs.iter().copied().collect();
        arrays.put_f32("inputs", self.inputs.shape().to_vec(), &values);
        if let Some(labels) = &self.labels {
            let labels: Vec<f64> = labels.iter().map(|&label| label as f64).collect();
            arrays.put_f64("labels", &labels);
        }
        arrays.to_bytes()
    }

    /// Reads them and checks that they fit the model.
    pub fn from_bytes(bytes: &[u8], width: usize, classes: usize) -> Result<Self> {
        let arrays = ReadArrays::new(ROWS, bytes)?;
        let (shape, values) = arrays.f32("inputs")?;
        let [rows, columns] = shape[..] else {
            return Err(arrays.wrong("inputs", "is no matrix"));
        };
        if columns != width {
            return Err(arrays.wrong("inputs", "does not fit the model's inputs"));
        }
        let inputs = Array2::from_shape_vec((rows, columns), values)
            .map_err(|error| Error::Data(error.to_string()))?;
        let labels = match classes {
            0 => None,
            _ => {
                let labels: Vec<usize> =
                    arrays.f64("labels")?.iter().map(|&label| label as usize).collect();
                if labels.len() != rows || labels.iter().any(|&label| label >= classes) {
                    return Err(arrays.wrong("labels", "does not fit the model's classes"));
                }
                Some(labels)
            }
        };
        Ok(Self { inputs, labels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_sorted_file_are_kept_from_all_of_it() {
        let vectors = Array2::from_shape_fn((10_000, 2), |(row, _)| row as f32);
        let labels: Vec<usize> = (0..10_000).map(|row| row / 1000).collect();
        let kept = CalibrationRows::of(&Prepared::Vectors(vectors), Some(&labels)).unwrap();
        assert_eq!(kept.inputs.nrows(), MOST_ROWS);
        for class in 0..10 {
            let count = kept.labels.as_ref().unwrap().iter().filter(|l| **l == class).count();
            assert_eq!(count, MOST_ROWS / 10);
        }
        assert_eq!(CalibrationRows::from_bytes(&kept.to_bytes().unwrap(), 2, 10).unwrap(), kept);
        assert!(CalibrationRows::from_bytes(&kept.to_bytes().unwrap(), 3, 10).is_err());
        assert!(CalibrationRows::from_bytes(&kept.to_bytes().unwrap(), 2, 9).is_err());
    }
}
