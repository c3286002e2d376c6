//! The detectors beside pytorch-ood 0.4 on the same features and logits, and what they must keep
//! to whatever the data.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2, array};
use serde_json::Value;
use sngp::detect::{ClassGaussians, ClassSums, Combination, Detectors, Geometry, Subspace};
use sngp::predict::{Integration, Prediction, Predictive};
use sngp::score::Score;

/// Made by pytorch-ood 0.4.0: 60 features of three classes, seven test features, a linear layer.
const GOLDEN: &str = include_str!("../golden/pytorch_ood.json");

fn golden() -> Value {
    serde_json::from_str(GOLDEN).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Array2<f64> {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
    Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j])
}

fn assert_close(name: &str, ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len());
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{name}: {ours:?} against {theirs:?}");
    }
}

fn prediction(logits: Array2<f64>, hidden: Array2<f32>) -> Prediction {
    let probabilities = Integration::MeanField { factor: 0.0 }.softmax(logits.view(), None);
    Prediction {
        predictive: Predictive::Classes(probabilities.unwrap()),
        logits,
        variance: None,
        mean_field_factor: 0.0,
        hidden: Some(hidden),
        detectors: None,
        combination: None,
    }
}

fn evaluate(name: &str, prediction: &Prediction) -> Vec<f64> {
    name.parse::<Score>().unwrap().evaluate(prediction).unwrap()
}

#[test]
fn detectors_agree_with_pytorch_ood() {
    let golden = golden();
    let features = matrix(&golden["features"]).mapv(|v| v as f32);
    let test = matrix(&golden["test"]).mapv(|v| v as f32);
    let classes: Vec<usize> = numbers(&golden["classes"]).iter().map(|c| *c as usize).collect();
    let theirs = |name: &str| numbers(&golden["scores"][name]);
    let rows = features.nrows() as f64;

    // Its covariances are sums, not means, with 1e-6 added.
    let mut sums = ClassSums::new(features.ncols(), 3);
    sums.add(features.view(), &classes).unwrap();
    let share = |covariance: Array2<f64>| 1e-6 / (rows * covariance.diag().mean().unwrap());
    let ours = ClassGaussians::of(&sums, share(sums.within().unwrap())).unwrap();
    let halves: Vec<f64> = ours.mahalanobis(test.view()).iter().map(|d| d / rows / 2.0).collect();
    assert_close("mahalanobis", &halves, &theirs("mahalanobis"));
    let relative = ours.relative_mahalanobis(test.view());
    let relative: Vec<f64> = relative.iter().map(|d| d / rows).collect();
    assert_close("relative_mahalanobis", &relative, &theirs("relative_mahalanobis"));

    let mut detectors = Detectors::new(Geometry::Direction, features.ncols(), 3);
    detectors.add(features.view(), &classes).unwrap();
    let logits = matrix(&golden["logits"]);
    let mut given = prediction(logits.clone(), test.clone());
    given.detectors = Some(Arc::new(detectors));
    assert_close("knn", &evaluate("knn", &given), &theirs("knn"));
    assert_close("energy", &evaluate("energy", &given), &theirs("energy"));
    assert_close("entropy", &evaluate("entropy", &given), &theirs("entropy"));
    // It takes the mean over the classes.
    let mean: Vec<f64> = evaluate("gen", &given).iter().map(|g| g / 3.0).collect();
    // A probability of one is cut off at 1 - 1e-7, which f32 rounds: those rows cannot agree.
    let maximum = evaluate("max_probability", &given);
    let unsure = |values: &[f64]| -> Vec<f64> {
        values.iter().zip(&maximum).filter(|(_, m)| **m > 1e-5).map(|(v, _)| *v).collect()
    };
    assert!(unsure(&mean).len() >= 6);
    assert_close("gen", &unsure(&mean), &unsure(&theirs("gen")));

    let origin = Array1::from(numbers(&golden["vim_origin"]));
    let centred = features.mapv(f64::from) - &origin;
    let covariance = centred.t().dot(&centred) / rows;
    let subspace = Subspace::around(origin, &covariance, 3).unwrap();
    let alpha = golden["vim_alpha"].as_f64().unwrap();
    let energy = evaluate("energy", &given);
    let residuals = subspace.residuals(test.view());
    let vim: Vec<f64> = residuals.iter().zip(energy).map(|(r, e)| alpha * r + e).collect();
    assert_close("vim", &vim, &theirs("vim"));
}

#[test]
fn sums_of_shards_are_the_sum() {
    let vectors = Array2::from_shape_fn((90, 5), |(i, j)| ((i * 7 + j * 3) as f32).sin());
    let classes: Vec<usize> = (0..90).map(|i| i % 4).collect();
    let mut whole = ClassSums::new(5, 4);
    whole.add(vectors.view(), &classes).unwrap();
    let mut merged = ClassSums::new(5, 4);
    for shard in 0..3 {
        let (from, to) = (30 * shard, 30 * shard + 30);
        let mut part = ClassSums::new(5, 4);
        part.add(vectors.slice(ndarray::s![from..to, ..]), &classes[from..to]).unwrap();
        let packed = part.packed();
        let read =
            ClassSums::from_parts(part.counts().to_vec(), part.sums().clone(), &packed).unwrap();
        merged.merge(&read).unwrap();
    }
    let distance = (whole.within().unwrap() - merged.within().unwrap()).mapv(f64::abs);
    assert!(distance.iter().all(|d| *d < 1e-6), "{distance}");
    assert!(merged.merge(&ClassSums::new(5, 3)).is_err());
    assert!(whole.add(array![[f32::NAN, 0.0, 0.0, 0.0, 0.0]].view(), &[0]).is_err());
}

fn blobs(rows: usize, seed: usize) -> (Array2<f32>, Vec<usize>) {
    let classes: Vec<usize> = (0..rows).map(|i| i % 3).collect();
    let noise = |i: usize, j: usize| {
        (((i * 7919 + j * 104_729 + seed * 31) % 1000) as f32 / 500.0 - 1.0) * 0.5
    };
    let vectors =
        Array2::from_shape_fn((rows, 4), |(i, j)| noise(i, j) + if j == i % 3 { 3.0 } else { 0.0 });
    (vectors, classes)
}

fn logits_of(vectors: ArrayView2<'_, f32>) -> Array2<f64> {
    Array2::from_shape_fn((vectors.nrows(), 3), |(i, k)| 3.0 * f64::from(vectors[[i, k]]))
}

#[test]
fn the_combination_sees_what_is_ambiguous_and_what_is_far() {
    let (train, classes) = blobs(300, 1);
    let mut detectors = Detectors::new(Geometry::Plain, 4, 3);
    detectors.add(train.view(), &classes).unwrap();
    let detectors = Arc::new(detectors);
    let predict = |vectors: Array2<f32>| {
        let logits = logits_of(vectors.view());
        Prediction { detectors: Some(detectors.clone()), ..prediction(logits, vectors) }
    };
    let held_out = predict(blobs(900, 2).0);
    let combination = Arc::new(Combination::of(&held_out).unwrap());
    let with = |vectors| {
        let combination = Some(combination.clone());
        Prediction { combination, ..predict(vectors) }
    };
    let p = |prediction: &Prediction| -> Vec<f64> {
        let values = evaluate("combined", prediction);
        values.into_iter().map(|v| combination.usual().p_value(v)).collect()
    };
    // Between two classes, far from all, and far in a direction no class is in.
    let odd = with(array![[1.5, 1.5, 0.0, 0.0], [30.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 9.0]]);
    let found = p(&odd);
    assert!(found.iter().all(|p| *p < 0.01), "{found:?}");
    // p-values of rows like the held-out ones are uniform.
    let usual = p(&with(blobs(900, 3).0));
    for share in [0.05, 0.2, 0.5] {
        let below = usual.iter().filter(|p| **p <= share).count() as f64 / 900.0;
        assert!((below - share).abs() < 0.05, "{share}: {below}");
    }
    // What is no number has no p-value.
    let none = with(array![[f32::NAN, 0.0, 0.0, 0.0]]);
    assert!(evaluate("combined", &none)[0].is_nan());
}

#[test]
fn classes_of_one_vector_each_have_distances() {
    let mut detectors = Detectors::new(Geometry::Direction, 4, 2);
    let vectors = Array2::from_shape_fn((12, 4), |(i, j)| if i % 2 == j { 0.7_f32 } else { 0.3 });
    detectors.add(vectors.view(), &[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]).unwrap();
    let seen = detectors.geometry().view(vectors.view());
    let other = detectors.geometry().view(array![[0.3, 0.3, 0.3, 0.7]].view());
    let gaussians = detectors.gaussians().unwrap();
    let near = gaussians.mahalanobis(seen.view());
    let far = gaussians.mahalanobis(other.view())[0];
    assert!(near.iter().all(|near| near.is_finite() && *near < 1e-3 * far), "{near:?} {far}");
}
