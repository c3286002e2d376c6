//! The random-feature posterior against the exact Gaussian process it approximates, and what a
//! precision promises: parts merge, mismatches are refused, bad matrices are errors.

mod common;

use common::{device, host_matrix, normals, tensor};
use ndarray::{Array2, Axis, s};
use proptest::prelude::*;
use sngp::Error;
use sngp::exact_gp::ExactGpRegression;
use sngp::nn::{FeatureKind, RandomFeaturesConfig};
use sngp::posterior::{Curvature, FeatureMapHash, Posterior, Precision};

const HASH: FeatureMapHash = FeatureMapHash([7; 32]);

#[test]
fn variance_converges_to_the_exact_gp() {
    let (length_scale, ridge) = (0.7, 0.3);
    let train = normals(150, 2, 1);
    let test = normals(200, 2, 2) * 1.5;

    let exact =
        ExactGpRegression::fit(train.view(), Array2::zeros((150, 0)).view(), length_scale, ridge);
    let (_, expected) = exact.unwrap().predict(test.view()).unwrap();

    let config = RandomFeaturesConfig {
        count: 8192,
        kind: FeatureKind::Orthogonal,
        length_scale,
        ..Default::default()
    };
    let layer = config.init(2, 5, &device()).unwrap();
    let features = host_matrix(layer.forward(tensor(&train)));
    let mut precision = Precision::new(8192, 1, Curvature::Gaussian, HASH);
    precision.add(features.view(), Array2::zeros((150, 1)).view()).unwrap();
    let posterior = Posterior::finish(precision, ridge, &device()).unwrap();
    let found = host_matrix(posterior.variance(&layer.forward(tensor(&test))));

    let error = common::largest_difference(&found, &expected);
    assert!(error < 0.02, "the largest error of the variance is {error}");
    // The test is worth something only if there is near and far in it.
    assert!(expected.iter().any(|&v| v < 0.1) && expected.iter().any(|&v| v > 0.9));
}

fn random_precision(rows: usize, dimension: usize, curvature: Curvature, seed: u64) -> Precision {
    let (features, logits) = (normals(rows, dimension, seed), normals(rows, 3, seed + 1));
    let mut precision = Precision::new(dimension, 3, curvature, HASH);
    precision.add(features.view(), logits.view()).unwrap();
    precision
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn shards_merge_to_the_whole_in_any_order(
        cuts in proptest::collection::vec(0usize..=50, 0..6),
        order in any::<u64>(),
        curvature in prop_oneof![
            Just(Curvature::PerClass), Just(Curvature::SharedMax), Just(Curvature::Gaussian)
        ],
    ) {
        let (features, logits) = (normals(50, 12, 3), normals(50, 3, 4));
        let mut whole = Precision::new(12, 3, curvature, HASH);
        whole.add(features.view(), logits.view()).unwrap();

        let mut cuts = cuts;
        cuts.extend([0, 50]);
        cuts.sort_unstable();
        let mut shards: Vec<Precision> = cuts
            .windows(2)
            .map(|ends| {
                let mut shard = Precision::new(12, 3, curvature, HASH);
                let rows = s![ends[0]..ends[1], ..];
                shard.add(features.slice(rows), logits.slice(rows)).unwrap();
                shard
            })
            .collect();
        use rand::seq::SliceRandom;
        shards.shuffle(&mut sngp::seed::stream(order, sngp::seed::Purpose::Shuffle, 0));

        let mut merged = shards.pop().unwrap();
        for shard in &shards {
            merged.merge(shard).unwrap();
        }
        prop_assert_eq!(merged.rows(), 50);
        for k in 0..whole.matrices() {
            let (expected, found) = (whole.matrix(k), merged.matrix(k));
            let scale = expected.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            let error = common::largest_difference(&found, &expected);
            prop_assert!(error <= 1e-9 * scale, "off by {}", error);
        }
    }

    #[test]
    fn variance_lies_between_zero_and_the_prior(
        seed in 0u64..1000,
        rows in 1usize..60,
        ridge in 1e-3f64..10.0,
    ) {
        let precision = random_precision(rows, 9, Curvature::PerClass, seed);
        let test = normals(20, 9, seed + 2);
        let variance = precision.finish(ridge).unwrap().variance(test.view()).unwrap();
        for (row, variance) in test.axis_iter(Axis(0)).zip(variance.axis_iter(Axis(0))) {
            let prior = row.dot(&row);
            for &v in variance {
                prop_assert!(v >= 0.0 && v <= prior * (1.0 + 1e-12), "{} of {}", v, prior);
            }
        }
    }
}

#[test]
fn merging_refuses_what_does_not_fit() {
    let base = random_precision(5, 4, Curvature::SharedMax, 1);
    let mut average = Precision::new(4, 3, Curvature::SharedMax, HASH);
    average.average(normals(5, 4, 1).view(), normals(5, 3, 2).view(), 0.9, 5).unwrap();
    let others = [
        (Precision::new(4, 3, Curvature::SharedMax, FeatureMapHash([8; 32])), "feature maps"),
        (Precision::new(4, 3, Curvature::Gaussian, HASH), "curvatures"),
        (Precision::new(4, 3, Curvature::PerClass, HASH), "curvatures"),
        (Precision::new(5, 3, Curvature::SharedMax, HASH), "features"),
        (average.clone(), "moving average"),
    ];
    for (other, cause) in others {
        let mut merged = base.clone();
        let error = merged.merge(&other).unwrap_err();
        assert!(matches!(error, Error::Merge(_)), "{error}");
        common::assert_sentence(&error, cause);
        assert_eq!(merged.packed(), base.packed(), "a refused merge changed the sum");
        assert_eq!(merged.rows(), base.rows());
    }
    assert!(average.merge(&base).is_err());
    let per_class = |outputs| Precision::new(4, outputs, Curvature::PerClass, HASH);
    assert!(per_class(3).merge(&per_class(2)).is_err());
}

#[test]
fn a_matrix_that_is_not_positive_definite_is_an_error() {
    let packed = [1.0, 0.2, -5.0, 0.1, 0.1, 1.0];
    let precision =
        Precision::from_packed(&packed, 3, 1, 9, Curvature::Gaussian, HASH, false).unwrap();
    let error = precision.finish(1.0).unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { pivot: 1, size: 3, .. }), "{error}");
    common::assert_sentence(&error, "not positive definite");
    let error = common::refused("the posterior", Posterior::finish(precision, 1.0, &device()));
    assert!(matches!(error, Error::NotPositiveDefinite { .. }), "{error}");
}

#[test]
fn bad_numbers_are_errors() {
    let precision = random_precision(5, 4, Curvature::Gaussian, 1);
    for ridge in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(precision.finish(ridge), Err(Error::Config { .. })));
    }
    let restore = |packed: &[f64], dimension| {
        Precision::from_packed(packed, dimension, 1, 1, Curvature::Gaussian, HASH, false)
    };
    assert!(restore(&[1.0, f64::NAN, 1.0], 2).is_err());
    assert!(restore(&[1.0, 1.0], 2).is_err());
    assert!(restore(&[], 0).is_err());
    assert_eq!(
        restore(&precision.packed(), 4).unwrap().packed(),
        precision.packed(),
        "the saved form is not read back"
    );

    let mut precision = precision;
    let before = precision.packed();
    let add = |p: &mut Precision, features: Array2<f64>, logits: Array2<f64>| {
        p.add(features.view(), logits.view())
    };
    let nan = Array2::from_elem((2, 4), f64::NAN);
    assert!(add(&mut precision, nan, Array2::zeros((2, 3))).is_err());
    assert!(add(&mut precision, Array2::zeros((2, 5)), Array2::zeros((2, 3))).is_err());
    assert!(add(&mut precision, Array2::zeros((2, 4)), Array2::zeros((3, 3))).is_err());
    assert_eq!(precision.packed(), before, "a refused batch changed the sum");

    // exp(1000) is no curvature.
    let mut poisson = Precision::new(2, 1, Curvature::Poisson, HASH);
    assert!(add(&mut poisson, Array2::ones((1, 2)), Array2::from_elem((1, 1), 1e3)).is_err());

    // A refused batch must not have decayed a moving average either.
    let mut average = Precision::new(2, 1, Curvature::Gaussian, HASH);
    let one = Array2::ones((1, 2));
    average.average(one.view(), Array2::zeros((1, 1)).view(), 0.5, 1).unwrap();
    let before = average.packed();
    let nan = Array2::from_elem((1, 2), f64::NAN);
    assert!(average.average(nan.view(), Array2::zeros((1, 1)).view(), 0.5, 1).is_err());
    assert_eq!(average.packed(), before, "a refused batch changed the average");
}
