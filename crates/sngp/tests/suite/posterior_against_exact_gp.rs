//! The random-feature posterior against the exact Gaussian process it approximates, and what a
//! precision promises: parts merge, mismatches are refused, bad matrices are errors.

use crate::common::{device, host_matrix, normals, tensor};
use ndarray::{Array1, Array2, Axis, s};
use proptest::prelude::*;
use rand::RngExt;
use sngp::Error;
use sngp::exact_gp::ExactGpRegression;
use sngp::nn::{FeatureKind, RandomFeaturesConfig};
use sngp::posterior::{Curvature, FeatureMapHash, Posterior, Precision};
use sngp::seed::{Purpose, stream};

const HASH: FeatureMapHash = FeatureMapHash([7; 32]);

const RIDGE: f64 = 0.3;
const LENGTH_SCALE: f64 = 0.7;

/// Points spread evenly over a square around the origin.
fn square(points: usize, side: f64, seed: u64) -> Array2<f64> {
    let mut rng = stream(seed, Purpose::Shuffle, 0);
    Array2::from_shape_simple_fn((points, 2), || side * (rng.random::<f64>() - 0.5))
}

fn exact_variance(train: &Array2<f64>, test: &Array2<f64>) -> Array1<f64> {
    let nothing = Array2::zeros((train.nrows(), 0));
    let gp = ExactGpRegression::fit(train.view(), nothing.view(), LENGTH_SCALE, RIDGE).unwrap();
    gp.predict(test.view()).unwrap().1
}

/// The same from `count` orthogonal features, through the layer and the device.
fn feature_variance(
    train: &Array2<f64>,
    test: &Array2<f64>,
    count: usize,
    seed: u64,
) -> Array2<f64> {
    let config = RandomFeaturesConfig {
        count,
        kind: FeatureKind::Orthogonal,
        length_scale: LENGTH_SCALE,
        ..Default::default()
    };
    let layer = config.init(2, seed, &device()).unwrap();
    let features = host_matrix(layer.forward(tensor(train)));
    let mut precision = Precision::new(count, 1, Curvature::Gaussian, HASH);
    precision.add(features.view(), Array2::zeros((train.nrows(), 1)).view()).unwrap();
    let posterior = Posterior::finish(precision, RIDGE, &device()).unwrap();
    host_matrix(posterior.variance(&layer.forward(tensor(test))))
}

/// In and around the data. Far away the variance is `phi . phi`, which has a deviation of
/// `1 / sqrt(2 D)` of its own: there the worst of 200 points needs more features than a test can
/// afford, and `the_error_falls_with_the_number_of_features` looks at the mean instead.
#[test]
fn variance_agrees_with_the_exact_gp() {
    let (train, test) = (square(250, 4.0, 1), square(200, 4.4, 2));
    let expected = exact_variance(&train, &test);
    let found = feature_variance(&train, &test, 4096, 5);
    let error = crate::common::largest_difference(&found, &expected);
    assert!(error < 0.02, "the largest error of the variance is {error}");
    // The test is worth something only if some points are better known than others.
    let most = expected.iter().fold(0.0f64, |a, b| a.max(*b));
    let least = expected.iter().fold(1.0f64, |a, b| a.min(*b));
    assert!(most > 4.0 * least, "{least} to {most}");
}

#[test]
fn the_error_falls_with_the_number_of_features() {
    let (train, test) = (square(150, 2.0, 3), square(200, 8.0, 4));
    let expected = exact_variance(&train, &test);
    assert!(expected.iter().any(|&v| v < 0.1) && expected.iter().any(|&v| v > 0.99));
    let [few, many] = [128, 2048].map(|count| {
        let errors = (0..3).flat_map(|seed| {
            let found = feature_variance(&train, &test, count, seed);
            found.iter().zip(&expected).map(|(a, b)| (a - b).powi(2)).collect::<Vec<_>>()
        });
        (errors.sum::<f64>() / 600.0).sqrt()
    });
    // Sixteen times the features are a quarter of the error, up to chance.
    assert!(many < 0.4 * few, "{many} with many features, {few} with few");
    assert!(many < 0.02, "the root mean square error is {many}");
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
        shards.shuffle(&mut stream(order, Purpose::Shuffle, 0));

        let mut merged = shards.pop().unwrap();
        for shard in &shards {
            merged.merge(shard).unwrap();
        }
        prop_assert_eq!(merged.rows(), 50);
        for k in 0..whole.matrices() {
            let (expected, found) = (whole.matrix(k), merged.matrix(k));
            let scale = expected.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            let error = crate::common::largest_difference(&found, &expected);
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
        crate::common::assert_sentence(&error, cause);
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
    crate::common::assert_sentence(&error, "not positive definite");
    let error =
        crate::common::refused("the posterior", Posterior::finish(precision, 1.0, &device()));
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
    let one = Array2::<f64>::ones((1, 2));
    average.average(one.view(), Array2::zeros((1, 1)).view(), 0.5, 1).unwrap();
    let before = average.packed();
    let nan = Array2::from_elem((1, 2), f64::NAN);
    assert!(average.average(nan.view(), Array2::zeros((1, 1)).view(), 0.5, 1).is_err());
    assert_eq!(average.packed(), before, "a refused batch changed the average");
}
