//! What is chosen on held-out examples.

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use sngp::predict::{Integration, Prediction};
use sngp::{Error, Result};

/// Factors on the mean logits that are tried.
const SCALES: [f64; 15] =
    [0.125, 0.18, 0.25, 0.35, 0.5, 0.71, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0];
/// Mean-field factors that are tried.
const FACTORS: [f64; 10] = [0.0, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

/// How mean and variance become probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Factor on the mean logits.
    pub scale: f64,
    /// Mean-field factor.
    pub factor: f64,
}

/// The scale and mean-field factor with the least cross-entropy on held-out examples.
///
/// One more example of unknown label is added: where all held-out ones are right, the best scale
/// would otherwise be infinite.
pub fn best_calibration(
    prediction: &Prediction,
    labels: &[usize],
    tune_scale: bool,
) -> Result<Calibration> {
    let one = [1.0];
    let scales: &[f64] = if tune_scale { &SCALES } else { &one };
    let factors: &[f64] = if prediction.variance.is_some() { &FACTORS } else { &[0.0] };
    let settings: Vec<Calibration> = scales
        .iter()
        .flat_map(|&scale| factors.iter().map(move |&factor| Calibration { scale, factor }))
        .collect();
    let plain = prediction.plain_class_logits()?;
    let loss = |&Calibration { scale, factor }: &Calibration| {
        let logits = &plain * scale;
        let variance = prediction.variance.as_ref().map(|variance| variance.view());
        let probabilities = Integration::MeanField { factor }.softmax(logits.view(), variance)?;
        Ok(smoothed_loss(&probabilities, labels))
    };
    let losses: Vec<f64> = settings.par_iter().map(loss).collect::<Result<_>>()?;
    let best = settings.into_iter().zip(losses).min_by(|(_, a), (_, b)| a.total_cmp(b));
    best.map(|(calibration, _)| calibration)
        .ok_or_else(|| Error::Data("there is nothing to calibrate with".to_string()))
}

fn smoothed_loss(probabilities: &Array2<f64>, labels: &[usize]) -> f64 {
    let unknown = 1.0 / (labels.len() + 1) as f64;
    let log = |p: f64| p.max(f64::MIN_POSITIVE).ln();
    let rows = probabilities.axis_iter(Axis(0)).zip(labels);
    let losses = rows.map(|(row, &label)| {
        let uniform = row.iter().map(|&p| log(p)).sum::<f64>() / row.len() as f64;
        -(1.0 - unknown) * log(row[label]) - unknown * uniform
    });
    losses.sum()
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use sngp::predict::Predictive;

    use super::*;

    fn prediction(logits: Array2<f64>, variance: Option<Array2<f64>>) -> Prediction {
        let probabilities = Integration::MeanField { factor: 0.0 }.softmax(logits.view(), None);
        Prediction {
            predictive: Predictive::Classes(probabilities.unwrap()),
            logits,
            variance,
            mean_field_factor: 0.0,
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
