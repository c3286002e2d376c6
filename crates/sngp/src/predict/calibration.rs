//! How mean and variance become probabilities, chosen on held-out examples.

use ndarray::{Array2, Axis};
use rayon::prelude::*;

use super::{Integration, Prediction};
use crate::{Error, Result};

/// A factor on the mean logits and one on their variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Factor on the mean logits.
    pub scale: f64,
    /// Mean-field factor.
    pub factor: f64,
    /// The mean cross-entropy of the held-out examples with both.
    pub loss: f64,
}

impl Calibration {
    /// The scale and mean-field factor with the least cross-entropy on held-out examples, the first
    /// of equals. `unknown` is the share of an example whose label is not known: where all held-out
    /// ones are right, the best scale would be infinite without.
    ///
    /// ```
    /// use ndarray::array;
    /// use sngp::predict::{Calibration, Prediction, Predictive};
    ///
    /// // Certain twice, and wrong where the variance is large.
    /// let prediction = Prediction {
    ///     predictive: Predictive::Classes(array![[0.99, 0.01], [0.99, 0.01]]),
    ///     logits: array![[5.0, 0.0], [5.0, 0.0]],
    ///     variance: Some(array![[0.01], [1.0]]),
    ///     mean_field_factor: 0.0,
    ///     hidden: None,
    ///     detectors: None,
    ///     combination: None,
    /// };
    /// let found = Calibration::search(&prediction, &[0, 1], &[1.0], &[0.0, 1.0, 30.0], 0.0)?;
    /// assert_eq!(found.factor, 30.0);
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn search(
        prediction: &Prediction,
        labels: &[usize],
        scales: &[f64],
        factors: &[f64],
        unknown: f64,
    ) -> Result<Self> {
        let plain = prediction.plain_class_logits()?;
        if labels.len() != plain.nrows() {
            return Err(Error::shape(
                "labels of the held-out examples",
                plain.nrows(),
                labels.len(),
            ));
        }
        let variance = prediction.variance.as_ref().map(|variance| variance.view());
        let settings: Vec<(f64, f64)> = scales
            .iter()
            .flat_map(|&scale| factors.iter().map(move |&factor| (scale, factor)))
            .collect();
        let measured = |&(scale, factor): &(f64, f64)| {
            let logits = &plain * scale;
            let probabilities =
                Integration::MeanField { factor }.softmax(logits.view(), variance)?;
            Ok(Self { scale, factor, loss: cross_entropy(&probabilities, labels, unknown) })
        };
        let all: Vec<Self> = settings.par_iter().map(measured).collect::<Result<_>>()?;
        let best = all.into_iter().min_by(|a, b| a.loss.total_cmp(&b.loss));
        best.ok_or_else(|| Error::Data("there is nothing to calibrate with".to_string()))
    }
}

fn cross_entropy(probabilities: &Array2<f64>, labels: &[usize], unknown: f64) -> f64 {
    let log = |p: f64| p.max(f64::MIN_POSITIVE).ln();
    let rows = probabilities.axis_iter(Axis(0)).zip(labels);
    let losses = rows.map(|(row, &label)| {
        let uniform = row.iter().map(|&p| log(p)).sum::<f64>() / row.len() as f64;
        -(1.0 - unknown) * log(row[label]) - unknown * uniform
    });
    losses.sum::<f64>() / labels.len() as f64
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::predict::Predictive;

    /// One logit of two classes is as good as one of each.
    #[test]
    fn one_logit_has_the_factor_of_two() {
        let one = array![[6.0], [-6.0], [5.0], [6.0]];
        let variance = array![[0.01], [0.02], [1.0], [1.5]];
        let labels = [1, 0, 0, 1];
        let prediction = |logits: Array2<f64>| Prediction {
            predictive: Predictive::Classes(Array2::from_elem((4, 2), 0.5)),
            logits,
            variance: Some(variance.clone()),
            mean_field_factor: 0.0,
            hidden: None,
            detectors: None,
            combination: None,
        };
        let search = |logits| {
            let factors = [0.0, 1.0, 8.0, 64.0];
            Calibration::search(&prediction(logits), &labels, &[1.0], &factors, 0.0).unwrap()
        };
        let of_one = search(one.clone());
        let two = ndarray::concatenate![Axis(1), &one / -2.0, &one / 2.0];
        assert_eq!(of_one, search(two));
        // The mistake lies where the variance is large.
        assert!(of_one.factor >= 8.0, "{of_one:?}");
    }
}
