//! What is chosen on held-out examples.

use sngp::Result;
use sngp::predict::{Calibration, Prediction};

/// Factors on the mean logits that are tried.
const SCALES: [f64; 15] =
    [0.125, 0.18, 0.25, 0.35, 0.5, 0.71, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0];
/// Mean-field factors that are tried.
const FACTORS: [f64; 10] = [0.0, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

/// The scale and mean-field factor with the least cross-entropy on held-out examples.
///
/// One more example of unknown label is added: where all held-out ones are right, the best scale
/// would otherwise be infinite.
pub fn best_calibration(
    prediction: &Prediction,
    labels: &[usize],
    tune_scale: bool,
) -> Result<Calibration> {
    let scales: &[f64] = if tune_scale { &SCALES } else { &[1.0] };
    let factors: &[f64] = if prediction.variance.is_some() { &FACTORS } else { &[0.0] };
    let unknown = 1.0 / (labels.len() + 1) as f64;
    Calibration::search(prediction, labels, scales, factors, unknown)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use sngp::predict::{Integration, Predictive};

    use super::*;

    fn prediction(logits: Array2<f64>, variance: Option<Array2<f64>>) -> Prediction {
        let probabilities = Integration::MeanField { factor: 0.0 }.softmax(logits.view(), None);
        Prediction {
            predictive: Predictive::Classes(probabilities.unwrap()),
            logits,
            variance,
            mean_field_factor: 0.0,
            hidden: None,
            detectors: None,
            combination: None,
        }
    }

    #[test]
    fn overconfidence_is_scaled_down_and_all_right_is_not_infinity() {
        // Right three times out of four at logits that claim near certainty.
        let logits =
            Array2::from_shape_fn((400, 2), |(_, class)| if class == 0 { 20.0 } else { 0.0 });
        let mut labels = vec![0; 400];
        labels[..100].fill(1);
        let found = best_calibration(&prediction(logits.clone(), None), &labels, true).unwrap();
        assert_eq!(found.scale, 0.125, "the least that is tried");
        let found = best_calibration(&prediction(logits / 20.0, None), &[0; 400], true).unwrap();
        assert!(found.scale < 16.0, "{found:?}");
    }

    #[test]
    fn errors_where_the_variance_is_large_raise_the_factor() {
        let logits = array![[6.0, 0.0], [6.0, 0.0], [6.0, 0.0], [6.0, 0.0]];
        let variance = array![[0.01], [0.01], [1.0], [1.0]];
        let found =
            best_calibration(&prediction(logits, Some(variance)), &[0, 0, 0, 1], false).unwrap();
        assert!(found.factor >= 8.0, "{found:?}");
        assert_eq!(found.scale, 1.0);
    }
}
