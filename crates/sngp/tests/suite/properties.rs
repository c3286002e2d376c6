//! Properties that hold for any numbers.

use crate::common::normals;
use ndarray::{Array2, Axis};
use proptest::prelude::*;
use sngp::likelihood::{Bernoulli, LikelihoodFunction};
use sngp::posterior::{Curvature, FeatureMapHash, Precision};
use sngp::predict::{Integration, Prediction, Predictive, minimax};
use sngp::score::Score;

fn array(rows: usize, columns: usize, low: f64, high: f64) -> impl Strategy<Value = Array2<f64>> {
    proptest::collection::vec(low..high, rows * columns)
        .prop_map(move |values| Array2::from_shape_vec((rows, columns), values).unwrap())
}

/// Rows of positive numbers that sum to one.
fn distributions(rows: usize, classes: usize) -> impl Strategy<Value = Array2<f64>> {
    array(rows, classes, 1e-3, 1.0).prop_map(|values| {
        let sums = values.sum_axis(Axis(1)).insert_axis(Axis(1));
        values / sums
    })
}

proptest! {
    #[test]
    fn softmax_rows_sum_to_one(
        logits in array(4, 3, -700.0, 700.0),
        shared in any::<bool>(),
        variance in array(4, 3, 0.0, 1e4),
        factor in 0.0f64..10.0,
    ) {
        let variance = match shared {
            true => variance.slice(ndarray::s![.., ..1]).to_owned(),
            false => variance,
        };
        for integration in [
            Integration::MeanField { factor },
            Integration::MonteCarlo { samples: 5, seed: 3 },
        ] {
            let p = integration.softmax(logits.view(), Some(variance.view())).unwrap();
            for row in p.axis_iter(Axis(0)) {
                prop_assert!(row.iter().all(|p| (0.0..=1.0).contains(p)));
                prop_assert!((row.sum() - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_shared_variance_moves_towards_uniform_and_keeps_the_decision(
        logits in array(1, 4, -5.0, 5.0),
        variance in 0.0f64..50.0,
        more in 0.0f64..50.0,
    ) {
        let top = |variance: f64| {
            let variance = Array2::from_elem((1, 1), variance);
            let p = Integration::default().softmax(logits.view(), Some(variance.view())).unwrap();
            p.iter().copied().enumerate().fold((0, 0.0), |best, (k, p)| {
                if p > best.1 { (k, p) } else { best }
            })
        };
        let (near, far) = (top(variance), top(variance + more));
        prop_assert!(far.1 <= near.1 + 1e-12);
        prop_assert!(far.0 == near.0 || (near.1 - far.1).abs() < 1e-9);
    }

    #[test]
    fn more_data_means_less_variance(
        seed in 0u64..10_000,
        first in 1usize..30,
        second in 1usize..30,
        ridge in 0.01f64..5.0,
    ) {
        let logits = normals(first.max(second), 2, seed);
        let test = normals(10, 8, seed + 1);
        let mut precision =
            Precision::new(8, 2, Curvature::PerClass, FeatureMapHash([0; 32]));
        let mut add = |rows: usize, seed: u64| {
            let logits = logits.slice(ndarray::s![..rows, ..]);
            precision.add(normals(rows, 8, seed).view(), logits).unwrap();
            precision.finish(ridge).unwrap().variance(test.view()).unwrap()
        };
        let (before, after) = (add(first, seed + 2), add(second, seed + 3));
        for (before, after) in before.iter().zip(&after) {
            prop_assert!(*after <= before * (1.0 + 1e-9), "{} grew to {}", before, after);
        }
    }

    #[test]
    fn the_minimax_mixture_lies_between_model_and_uniform(
        probabilities in distributions(5, 3),
        weights in proptest::collection::vec(0.0f64..=1.0, 5),
    ) {
        let mixed = minimax(probabilities.view(), &weights).unwrap();
        for ((mixed, p), w) in
            mixed.axis_iter(Axis(0)).zip(probabilities.axis_iter(Axis(0))).zip(&weights)
        {
            prop_assert!((mixed.sum() - 1.0).abs() < 1e-12);
            for (&mixed, &p) in mixed.iter().zip(p) {
                let (low, high) = (p.min(1.0 / 3.0), p.max(1.0 / 3.0));
                prop_assert!(mixed >= low - 1e-15 && mixed <= high + 1e-15);
                prop_assert!(mixed >= (1.0 - w) / 3.0 - 1e-15);
            }
        }
        prop_assert_eq!(minimax(probabilities.view(), &[1.0; 5]).unwrap(), probabilities.clone());
        prop_assert!(minimax(probabilities.view(), &[0.5; 4]).is_err());
        prop_assert!(minimax(probabilities.view(), &[1.5, 0.0, 0.0, 0.0, 0.0]).is_err());
        prop_assert!(minimax(probabilities.view(), &[f64::NAN; 5]).is_err());
    }

    #[test]
    fn scores_are_finite_and_bounded(
        logits in array(6, 3, -300.0, 300.0),
        variance in array(6, 3, 0.0, 100.0),
    ) {
        let integration = Integration::default();
        let probabilities = integration.softmax(logits.view(), Some(variance.view())).unwrap();
        let prediction = Prediction {
            predictive: Predictive::Classes(probabilities),
            logits,
            variance: Some(variance),
            mean_field_factor: integration.mean_field_factor(),
            hidden: None,
            detectors: None,
            combination: None,
        };
        // DUQ's own score refuses logits that are no logarithms of kernels.
        let kernels: Score = "kernel_distance".parse().unwrap();
        prop_assert!(kernels.evaluate(&prediction).is_err());
        for score in crate::common::plain_scores() {
            let values = score.evaluate(&prediction).unwrap();
            prop_assert_eq!(values.len(), 6);
            prop_assert!(values.iter().all(|v| v.is_finite()), "{}: {:?}", score, values);
            let bounded = !matches!(
                score,
                Score::Variance(_) | Score::Energy(_) | Score::Entropy(_) | Score::Gen(_)
            );
            prop_assert!(
                !bounded || values.iter().all(|v| (-1e-12..=1.0 + 1e-12).contains(v)),
                "{}: {:?}", score, values
            );
        }
    }

    #[test]
    fn scores_of_one_logit_favour_neither_class(
        logits in array(6, 1, -30.0, 30.0),
        variance in array(6, 1, 0.0, 100.0),
    ) {
        let integration = Integration::default();
        let predict = |logits: Array2<f64>| Prediction {
            predictive: Bernoulli {}
                .predict(logits.view(), Some(variance.view()), &integration, None)
                .unwrap(),
            logits,
            variance: Some(variance.clone()),
            mean_field_factor: integration.mean_field_factor(),
            hidden: None,
            detectors: None,
            combination: None,
        };
        let (here, mirrored) = (predict(logits.clone()), predict(-&logits));
        for score in crate::common::plain_scores() {
            let pairs = [&here, &mirrored].map(|prediction| score.evaluate(prediction).unwrap());
            for (a, b) in pairs[0].iter().zip(&pairs[1]) {
                prop_assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{}: {} {}", score, a, b);
            }
        }
    }
}

#[test]
fn mean_field_is_close_to_the_integral_it_stands_for() {
    let (logits, variance) = (normals(20, 2, 1), normals(20, 1, 2).mapv(|v| v * v));
    let mean_field = Integration::default().softmax(logits.view(), Some(variance.view())).unwrap();
    let sampled = Integration::MonteCarlo { samples: 20_000, seed: 1 };
    let sampled = sampled.softmax(logits.view(), Some(variance.view())).unwrap();
    // Two independent logits have twice the variance in their difference, which the mean field
    // per class does not see; the two agree only roughly.
    let error = crate::common::largest_difference(&mean_field, &sampled);
    assert!(error < 0.1, "the mean field is off by {error}");
}
