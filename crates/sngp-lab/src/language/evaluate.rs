//! What is measured of a model.

use ndarray::{Array2, Axis, concatenate};
use sngp::metrics::{Classification, ece};
use sngp::predict::Prediction;
use sngp::score::Score;
use sngp::{Error, Result};

use crate::bench::{Measured, detection, mistakes};

/// The bins of the expected calibration error.
const BINS: usize = 15;

/// Measures predictions of test sentences and of sentences out of scope.
pub(super) fn measure(
    test: &Prediction,
    labels: &[usize],
    out_of_scope: &Prediction,
    default: &Score,
    measured: &mut Measured,
) -> Result<()> {
    for metric in Classification::all() {
        measured.add("test", metric.name(), metric.evaluate(test.probabilities()?, labels)?);
    }
    let combined = Combined::new(test, labels, out_of_scope)?;
    measured.add("combined", "ece", combined.ece()?);
    measured.add("combined", "nll", combined.nll());
    detection("oos", test, out_of_scope, default, measured)?;
    mistakes(test, labels, default, measured)
}

/// Test sentences and sentences out of scope together. One out of scope has no right class: every
/// confident answer is wrong, and the best one is uniform.
struct Combined<'a> {
    probabilities: Array2<f64>,
    labels: &'a [usize],
}

impl<'a> Combined<'a> {
    fn new(test: &Prediction, labels: &'a [usize], ood: &Prediction) -> Result<Self> {
        let parts = [test.probabilities()?, ood.probabilities()?];
        let probabilities =
            concatenate(Axis(0), &parts).map_err(|error| Error::Data(error.to_string()))?;
        Ok(Self { probabilities, labels })
    }

    /// With one more class that is never predicted and always right for OOD inputs.
    fn ece(&self) -> Result<f64> {
        let (rows, classes) = self.probabilities.dim();
        let extended = Array2::from_shape_fn((rows, classes + 1), |(row, class)| {
            if class < classes { self.probabilities[[row, class]] } else { 0.0 }
        });
        let ood = std::iter::repeat_n(classes, rows - self.labels.len());
        let labels: Vec<usize> = self.labels.iter().copied().chain(ood).collect();
        ece(extended.view(), &labels, BINS)
    }

    /// The mean cross-entropy, with the uniform distribution as the target of OOD inputs.
    fn nll(&self) -> f64 {
        let log = |p: &f64| p.max(f64::MIN_POSITIVE).ln();
        let rows = self.probabilities.axis_iter(Axis(0)).enumerate();
        let losses = rows.map(|(index, row)| match self.labels.get(index) {
            Some(&label) => -log(&row[label]),
            None => -row.iter().map(log).sum::<f64>() / row.len() as f64,
        });
        losses.sum::<f64>() / self.probabilities.nrows() as f64
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use sngp::predict::Predictive;

    use super::*;

    fn prediction(probabilities: Array2<f64>) -> Prediction {
        Prediction {
            logits: probabilities.mapv(f64::ln),
            predictive: Predictive::Classes(probabilities),
            variance: None,
            mean_field_factor: 0.0,
            hidden: None,
            detectors: None,
            combination: None,
        }
    }

    #[test]
    fn ood_inputs_want_a_uniform_answer() {
        let test = prediction(array![[1.0, 0.0], [0.0, 1.0]]);
        let (sure, unsure) = (prediction(array![[0.9, 0.1]]), prediction(array![[0.5, 0.5]]));
        let combined = |ood| Combined::new(&test, &[0, 1], ood).unwrap();
        assert!((combined(&unsure).nll() - 2f64.ln() / 3.0).abs() < 1e-12);
        assert!(combined(&sure).nll() > combined(&unsure).nll());
        // Two right answers at full confidence; the OOD input's confidence is the gap.
        assert!((combined(&unsure).ece().unwrap() - 0.5 / 3.0).abs() < 1e-12);
        assert!((combined(&sure).ece().unwrap() - 0.9 / 3.0).abs() < 1e-12);
    }
}
