//! What holds for every metric: the contract of both registries, and properties on random data.

use ndarray::{Array2, Axis};
use proptest::prelude::*;

use super::*;

/// Rows over three classes, and labels. Built from small whole numbers, so that ties are common.
fn predictions() -> impl Strategy<Value = (Array2<f64>, Vec<usize>)> {
    let example = (prop::array::uniform3(0u8..6), 0usize..3);
    prop::collection::vec(example, 1..40).prop_map(|examples| {
        let probabilities = Array2::from_shape_fn((examples.len(), 3), |(row, class)| {
            let weights = examples[row].0;
            let total: u8 = weights.iter().sum();
            if total == 0 { 1.0 / 3.0 } else { f64::from(weights[class]) / f64::from(total) }
        });
        (probabilities, examples.iter().map(|example| example.1).collect())
    })
}

/// Scores with many ties, at least one of each kind.
fn detections() -> impl Strategy<Value = (Vec<f64>, Vec<bool>)> {
    let score = (-6i8..6).prop_map(|score| f64::from(score) / 4.0);
    prop::collection::vec((score, any::<bool>()), 2..60).prop_map(|mut examples| {
        examples[0].1 = true;
        examples[1].1 = false;
        examples.into_iter().unzip()
    })
}

/// A permutation of `0..n`, from sorting by random keys.
fn permutation(keys: &[u64], n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&index| keys[index]);
    order
}

fn keys() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 60)
}

fn pick<T: Copy>(values: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|&index| values[index]).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * (1.0 + a.abs())
}

proptest! {
    #[test]
    fn classification_is_finite_and_order_does_not_matter(
        (probabilities, labels) in predictions(),
        keys in keys(),
    ) {
        let order = permutation(&keys, labels.len());
        let shuffled = probabilities.select(Axis(0), &order);
        for metric in Classification::all() {
            let value = metric.evaluate(probabilities.view(), &labels).unwrap();
            prop_assert!(value.is_finite(), "{metric}: {value}");
            let again = metric.evaluate(shuffled.view(), &pick(&labels, &order)).unwrap();
            prop_assert!(close(value, again), "{metric}: {value} became {again}");
        }
    }

    #[test]
    fn detection_is_a_share_and_order_does_not_matter(
        (scores, is_ood) in detections(),
        keys in keys(),
    ) {
        let order = permutation(&keys, scores.len());
        for metric in Detection::all() {
            let value = metric.evaluate(&scores, &is_ood).unwrap();
            prop_assert!((0.0..=1.0).contains(&value), "{metric}: {value}");
            let again = metric.evaluate(&pick(&scores, &order), &pick(&is_ood, &order)).unwrap();
            prop_assert!(close(value, again), "{metric}: {value} became {again}");
        }
    }

    #[test]
    fn detection_depends_on_ranks_alone((scores, is_ood) in detections()) {
        let mapped: Vec<f64> = scores.iter().map(|score| score.exp() + 3.0 * score).collect();
        for metric in Detection::all() {
            let value = metric.evaluate(&scores, &is_ood).unwrap();
            prop_assert_eq!(value, metric.evaluate(&mapped, &is_ood).unwrap(), "{}", metric);
        }
    }

    #[test]
    fn auroc_of_the_negated_score_is_the_complement((scores, is_ood) in detections()) {
        let negated: Vec<f64> = scores.iter().map(|score| -score).collect();
        let sum = auroc(&scores, &is_ood).unwrap() + auroc(&negated, &is_ood).unwrap();
        prop_assert!(close(sum, 1.0), "{sum}");
    }

    #[test]
    fn auroc_counts_pairs((scores, is_ood) in detections()) {
        let (mut won, mut pairs) = (0.0, 0.0);
        for (&strange, _) in scores.iter().zip(&is_ood).filter(|(_, ood)| **ood) {
            for (&familiar, _) in scores.iter().zip(&is_ood).filter(|(_, ood)| !**ood) {
                pairs += 1.0;
                won += if strange > familiar {
                    1.0
                } else if strange == familiar {
                    0.5
                } else {
                    0.0
                };
            }
        }
        prop_assert!(close(auroc(&scores, &is_ood).unwrap(), won / pairs));
    }

    #[test]
    fn ece_is_a_share_and_its_bins_hold_every_example(
        (probabilities, labels) in predictions(),
        bins in 1usize..30,
    ) {
        let value = ece(probabilities.view(), &labels, bins).unwrap();
        prop_assert!((0.0..=1.0).contains(&value), "{value}");
        let diagram = reliability(probabilities.view(), &labels, bins).unwrap();
        prop_assert_eq!(diagram.iter().map(|bin| bin.count).sum::<usize>(), labels.len());
        for bin in diagram.iter().filter(|bin| bin.count > 0) {
            let slack = 1e-12; // the mean of equal numbers rounds
            prop_assert!(bin.lower - slack <= bin.confidence);
            prop_assert!(bin.confidence <= bin.upper + slack);
        }
    }

    #[test]
    fn full_coverage_is_plain_accuracy((probabilities, labels) in predictions()) {
        let full = AccuracyAtCoverage { coverage: 1.0 };
        let value = full.evaluate(probabilities.view(), &labels).unwrap();
        prop_assert!(close(value, accuracy(probabilities.view(), &labels).unwrap()));
    }

    #[test]
    fn spearman_is_symmetric_and_bounded((a, _) in detections(), keys in keys()) {
        let b = pick(&a, &permutation(&keys, a.len()));
        let value = spearman(&a, &b).unwrap();
        prop_assert!((-1.0..=1.0).contains(&value));
        prop_assert!(close(value, spearman(&b, &a).unwrap()));
        let negated: Vec<f64> = b.iter().map(|value| -value).collect();
        prop_assert!(close(-value, spearman(&a, &negated).unwrap()));
    }
}

#[test]
fn every_classification_metric_refuses_bad_input() {
    let good = ndarray::array![[0.5, 0.5], [0.9, 0.1]];
    let nan = ndarray::array![[0.5, 0.5], [f64::NAN, 0.1]];
    let negative = ndarray::array![[0.5, 0.5], [1.2, -0.2]];
    for metric in Classification::all() {
        assert!(metric.evaluate(good.view(), &[0, 1]).is_ok(), "{metric}");
        assert!(metric.evaluate(good.view(), &[0]).is_err(), "{metric}: mismatch");
        assert!(metric.evaluate(good.view(), &[0, 2]).is_err(), "{metric}: label");
        assert!(metric.evaluate(nan.view(), &[0, 1]).is_err(), "{metric}: NaN");
        assert!(metric.evaluate(negative.view(), &[0, 1]).is_err(), "{metric}: range");
        for shape in [(0, 0), (0, 2), (2, 0)] {
            let empty = Array2::zeros(shape);
            assert!(metric.evaluate(empty.view(), &[0, 0][..shape.0]).is_err(), "{metric}: empty");
        }
    }
}

#[test]
fn every_detection_metric_refuses_bad_input() {
    for metric in Detection::all() {
        assert!(metric.evaluate(&[0.1, 0.2], &[false, true]).is_ok(), "{metric}");
        assert!(metric.evaluate(&[], &[]).is_err(), "{metric}: empty");
        assert!(metric.evaluate(&[0.1, 0.2], &[true]).is_err(), "{metric}: mismatch");
        assert!(metric.evaluate(&[f64::NAN, 0.2], &[false, true]).is_err(), "{metric}: NaN");
        assert!(metric.evaluate(&[0.1, 0.2], &[true, true]).is_err(), "{metric}: one kind");
    }
}

#[test]
fn names_parse_back_and_settings_survive_a_file() {
    for metric in Classification::all() {
        assert_eq!(metric.name().parse::<Classification>().unwrap(), metric);
        let text = serde_json::to_string(&metric).unwrap();
        assert_eq!(serde_json::from_str::<Classification>(&text).unwrap(), metric, "{text}");
        assert!(!metric.summary().is_empty());
    }
    for metric in Detection::all() {
        assert_eq!(metric.name().parse::<Detection>().unwrap(), metric);
        let text = serde_json::to_string(&metric).unwrap();
        assert_eq!(serde_json::from_str::<Detection>(&text).unwrap(), metric, "{text}");
        assert!(!metric.summary().is_empty());
    }
    assert!("auc".parse::<Detection>().unwrap_err().to_string().contains("auroc"));
}

#[test]
fn options_may_be_left_out_but_not_misspelt() {
    let parse = serde_json::from_str::<Classification>;
    assert_eq!(parse(r#"{"name": "ece"}"#).unwrap(), Classification::Ece(Ece { bins: 15 }));
    assert_eq!(
        parse(r#"{"name": "ece", "bins": 10}"#).unwrap(),
        Classification::Ece(Ece { bins: 10 })
    );
    assert!(parse(r#"{"name": "ece", "bin": 10}"#).is_err());
}
