//! Selective prediction as a figure: answer when confident, pass on when not.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{ClassificationMetric, RiskCoverage, input, risk_coverage};
use crate::Result;

/// The curve of `1 - max p`, the uncertainty that needs nothing but the probabilities.
fn by_top_probability(
    probabilities: ArrayView2<'_, f64>,
    labels: &[usize],
) -> Result<RiskCoverage> {
    input::probabilities(probabilities, labels)?;
    let (uncertainty, correct): (Vec<_>, Vec<_>) = probabilities
        .outer_iter()
        .zip(labels)
        .map(|(row, &label)| {
            let (class, confidence) = input::top(row);
            (1.0 - confidence, class == label)
        })
        .unzip();
    risk_coverage(&uncertainty, &correct)
}

/// [`RiskCoverage::area`] with `1 - max p` as the uncertainty, as an entry of
/// [`Classification`](super::Classification).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Aurc;

impl ClassificationMetric for Aurc {
    fn summary(&self) -> &'static str {
        "area under the risk-coverage curve, most confident answers first"
    }

    fn higher_is_better(&self) -> bool {
        false
    }

    fn evaluate(&self, probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
        Ok(by_top_probability(probabilities, labels)?.area())
    }
}

/// [`RiskCoverage::accuracy_at`] with `1 - max p` as the uncertainty, as an entry of
/// [`Classification`](super::Classification).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccuracyAtCoverage {
    /// The share of examples that are answered; 0.8 by default.
    pub coverage: f64,
}

impl Default for AccuracyAtCoverage {
    fn default() -> Self {
        Self { coverage: 0.8 }
    }
}

impl ClassificationMetric for AccuracyAtCoverage {
    fn summary(&self) -> &'static str {
        "accuracy on the most confident share of the examples"
    }

    fn higher_is_better(&self) -> bool {
        true
    }

    fn evaluate(&self, probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
        by_top_probability(probabilities, labels)?.accuracy_at(self.coverage)
    }
}
