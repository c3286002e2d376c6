//! Probabilities graded on rows of the domain and rows of no class together.

use ndarray::{Array2, ArrayView2, Axis, concatenate};

use super::{ece, input};
use crate::{Error, Result};

/// ECE and NLL over test rows and out-of-distribution (OOD) rows together. An OOD row has no right
/// class: every answer to it is wrong, and the best distribution is the uniform one.
///
/// ```
/// use ndarray::array;
/// use sngp::metrics::UnionCalibration;
///
/// let test = array![[1.0, 0.0], [0.0, 1.0]];
/// let of = |ood| UnionCalibration::of(test.view(), &[0, 1], ood, 15);
/// let (sure, unsure) = (array![[0.9, 0.1]], array![[0.5, 0.5]]);
/// assert!(of(sure.view())?.nll > of(unsure.view())?.nll);
/// // Two right answers at full confidence; what is claimed of the OOD row is the gap.
/// assert!((of(sure.view())?.ece - 0.9 / 3.0).abs() < 1e-12);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnionCalibration {
    /// [Expected calibration error](ece), with every answer to an OOD row counted as wrong.
    pub ece: f64,
    /// Mean cross-entropy, with the uniform distribution as the target of OOD rows; at least their
    /// share times `ln(classes)`.
    pub nll: f64,
}

impl UnionCalibration {
    /// The figures of probabilities of test rows, whose classes are known, and of OOD rows.
    pub fn of(
        test: ArrayView2<'_, f64>,
        labels: &[usize],
        ood: ArrayView2<'_, f64>,
        bins: usize,
    ) -> Result<Self> {
        input::probabilities(test, labels)?;
        let rows =
            concatenate(Axis(0), &[test, ood]).map_err(|error| Error::Data(error.to_string()))?;
        Ok(Self { ece: union_ece(&rows, labels, bins)?, nll: union_nll(&rows, labels) })
    }
}

/// With one more class that is never predicted and always right for OOD rows.
fn union_ece(probabilities: &Array2<f64>, labels: &[usize], bins: usize) -> Result<f64> {
    let (rows, classes) = probabilities.dim();
    let never = Array2::zeros((rows, 1));
    let extended = concatenate(Axis(1), &[probabilities.view(), never.view()])
        .map_err(|error| Error::Data(error.to_string()))?;
    let ood = std::iter::repeat_n(classes, rows - labels.len());
    let labels: Vec<usize> = labels.iter().copied().chain(ood).collect();
    ece(extended.view(), &labels, bins)
}

fn union_nll(probabilities: &Array2<f64>, labels: &[usize]) -> f64 {
    let log = |p: &f64| p.max(f64::MIN_POSITIVE).ln();
    let rows = probabilities.outer_iter().enumerate();
    let losses = rows.map(|(index, row)| match labels.get(index) {
        Some(&label) => -log(&row[label]),
        None => -row.iter().map(log).sum::<f64>() / row.len() as f64,
    });
    losses.sum::<f64>() / probabilities.nrows() as f64
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn ood_rows_want_a_uniform_answer() {
        let test = array![[1.0, 0.0], [0.0, 1.0]];
        let unsure = array![[0.5, 0.5]];
        let found = UnionCalibration::of(test.view(), &[0, 1], unsure.view(), 15).unwrap();
        assert!((found.nll - 2f64.ln() / 3.0).abs() < 1e-12);
        assert!((found.ece - 0.5 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn without_ood_rows_they_are_the_plain_figures() {
        let (test, none) = (array![[0.8, 0.2], [0.3, 0.7]], Array2::zeros((0, 2)));
        let found = UnionCalibration::of(test.view(), &[0, 0], none.view(), 15).unwrap();
        assert!((found.nll - super::super::nll(test.view(), &[0, 0]).unwrap()).abs() < 1e-12);
        assert_eq!(found.ece, ece(test.view(), &[0, 0], 15).unwrap());
        assert!(UnionCalibration::of(test.view(), &[0], none.view(), 15).is_err());
        assert!(UnionCalibration::of(test.view(), &[0, 0], array![[1.0]].view(), 15).is_err());
    }
}
