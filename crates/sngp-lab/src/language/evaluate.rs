//! What is measured of a model.

use sngp::Result;
use sngp::metrics::{Classification, Ece, UnionCalibration};
use sngp::predict::Prediction;
use sngp::score::Score;

use crate::bench::{Measured, detection, failures, mistakes};

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
    let outside = out_of_scope.probabilities()?;
    let combined =
        UnionCalibration::of(test.probabilities()?, labels, outside, Ece::default().bins)?;
    measured.add("combined", "ece", combined.ece);
    measured.add("combined", "nll", combined.nll);
    detection("oos", test, out_of_scope, default, measured)?;
    failures("oos", test, labels, out_of_scope, default, measured)?;
    mistakes(test, labels, default, measured)
}
