//! The entropy of the predictive distribution.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::ScoreFunction;
use crate::Result;
use crate::predict::Prediction;

/// -sum_k p_k ln p_k
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entropy {}

impl ScoreFunction for Entropy {
    fn summary(&self) -> &'static str {
        "-sum_k p_k ln p_k"
    }

    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>> {
        let rows = prediction.probabilities()?;
        // The limit at zero; what is no number stays none, and is not taken for certain.
        let term = |p: f64| if p == 0.0 { 0.0 } else { -p * p.ln() };
        Ok(rows.axis_iter(Axis(0)).map(|row| row.iter().map(|&p| term(p)).sum()).collect())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::predict::Predictive;

    #[test]
    fn what_is_no_number_is_not_certain() {
        let prediction = Prediction {
            predictive: Predictive::Classes(array![[1.0, 0.0], [f64::NAN, f64::NAN]]),
            logits: array![[0.0, 0.0], [0.0, 0.0]],
            variance: None,
            mean_field_factor: 0.0,
            hidden: None,
            detectors: None,
            combination: None,
        };
        let entropy = Entropy {}.evaluate(&prediction).unwrap();
        assert_eq!(entropy[0], 0.0);
        assert!(entropy[1].is_nan());
    }
}
