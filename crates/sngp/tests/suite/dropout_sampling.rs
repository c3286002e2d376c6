//! Multi-pass methods sample at prediction time, and the likelihoods beyond classes learn.

use crate::common::{device, largest_difference, test_points, tiny_config, two_classes};
use burn::tensor::Tensor;
use ndarray::Array2;
use rand::RngExt;
use rand_distr::{Distribution, Poisson as Counts, StandardNormal};
use sngp::Pass;
use sngp::backbone::{ResFfn, ResFfnConfig};
use sngp::data::{Inputs, Labelled, Table, Targets};
use sngp::likelihood::{Gaussian, Likelihood, Noise, Poisson};
use sngp::method::{Deterministic, McDropout, McdGp, Method, Sngp};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::predict::Predictive;
use sngp::seed::{Purpose, stream};
use sngp::train::{Decay, Schedule};

fn fit(config: ModelConfig, backbone: ResFfnConfig, data: &Labelled<Tensor<2>>) -> Model<ResFfn> {
    Estimator::new(config, backbone).fit(data, FitOptions::new(&device())).unwrap()
}

fn dropping(method: impl Into<Method>) -> Model<ResFfn> {
    let backbone = ResFfnConfig { dropout: 0.5, ..crate::common::tiny_backbone() };
    fit(tiny_config(method), backbone, &two_classes())
}

fn probabilities(model: &Model<ResFfn>) -> Array2<f64> {
    model.predict(&test_points()).unwrap().probabilities().unwrap().to_owned()
}

#[test]
fn passes_differ_from_the_deterministic_prediction() {
    let deterministic = probabilities(&dropping(Deterministic {}));
    let [one, few, many] = [1, 3, 50].map(|passes| probabilities(&dropping(McDropout { passes })));
    // Training does not depend on the passes, and one pass is the network itself.
    assert_eq!(one, deterministic);
    for (what, left, right) in [("few", &few, &one), ("many", &many, &one), ("both", &few, &many)] {
        let difference = largest_difference(left, right);
        assert!(difference > 1e-2, "{what}: only {difference} apart");
    }
    let again = probabilities(&dropping(McDropout { passes: 3 }));
    assert_eq!(again, few, "sampling is not seeded");
}

#[test]
fn passes_are_different_networks_and_their_mean_is_the_prediction() {
    let model = dropping(McDropout { passes: 4 });
    let batch = test_points().batch(&[0, 1, 2, 3, 4], &device());
    let network = model.networks().next().unwrap();
    let seed = model.config().seed;
    let passes: Vec<Array2<f64>> = (0..4)
        .map(|index| {
            let logits = network.forward(batch.clone(), &mut Pass::sample(seed, index)).logits;
            crate::common::host_matrix(burn::tensor::activation::softmax(logits, 1))
        })
        .collect();
    for i in 0..4 {
        for j in 0..i {
            assert!(largest_difference(&passes[i], &passes[j]) > 1e-4, "passes {i} and {j}");
        }
    }
    let mean = passes.iter().fold(Array2::zeros((5, 2)), |sum, p| sum + p) / 4.0;
    let prediction = model.predict_batch(batch).unwrap();
    let error = largest_difference(&mean, prediction.probabilities().unwrap());
    assert!(error < 1e-5, "the prediction is not the mean of its passes: {error}");
}

#[test]
fn a_gp_head_samples_too() {
    let [one, few] = [1, 8].map(|passes| {
        dropping(McdGp { passes }).predict(&test_points()).unwrap().variance.unwrap()
    });
    assert!(largest_difference(&one, &few) > 1e-3);
}

#[test]
fn without_dropout_passes_agree() {
    let backbone = ResFfnConfig { dropout: 0.0, ..crate::common::tiny_backbone() };
    let [one, few] = [1, 5].map(|passes| {
        let config = tiny_config(McDropout { passes });
        probabilities(&fit(config, backbone.clone(), &two_classes()))
    });
    assert!(largest_difference(&one, &few) < 1e-9);
}

/// 128 points of a line, with noise of the given deviation.
fn line(deviation: f32) -> Labelled<Tensor<2>> {
    let mut rng = stream(1, Purpose::Shuffle, 0);
    let x: Vec<f32> = (0..128).map(|i| i as f32 / 64.0 - 1.0).collect();
    let y = x.iter().map(|x| x + deviation * rng.sample::<f32, _>(StandardNormal)).collect();
    let table = Table::new(Array2::from_shape_vec((128, 1), x).unwrap().view()).unwrap();
    Labelled::new(table, Targets::values(y).unwrap()).unwrap()
}

fn column(values: &[f32]) -> Table {
    Table::new(Array2::from_shape_vec((values.len(), 1), values.to_vec()).unwrap().view()).unwrap()
}

fn regression(method: impl Into<Method>, likelihood: impl Into<Likelihood>) -> ModelConfig {
    let mut config = tiny_config(method);
    config.likelihood = likelihood.into();
    config.training.epochs = 100;
    config.training.schedule = Schedule { warm_up: 0.0, decay: Decay::Cosine };
    config.gaussian_process.features.count = 128;
    config
}

fn on_a_line() -> ResFfnConfig {
    ResFfnConfig { inputs: 1, dropout: 0.0, ..crate::common::tiny_backbone() }
}

#[test]
fn gaussian_regression_learns_a_line_and_knows_where_it_ends() {
    for noise in [Noise::Learned, Noise::Given(0.01)] {
        for method in [Sngp {}.into(), Method::from(Deterministic {})] {
            let config = regression(method.clone(), Gaussian { noise });
            let model = fit(config, on_a_line(), &line(0.1));
            let inside = [-0.8, -0.4, 0.0, 0.4, 0.8];
            let prediction = model.predict(&column(&inside)).unwrap();
            let Predictive::Normal { mean, variance } = prediction.predictive else {
                panic!("not a normal distribution")
            };
            for ((x, mean), variance) in inside.iter().zip(&mean).zip(&variance) {
                assert!((mean - f64::from(*x)).abs() < 0.15, "{method} {noise:?}: {mean} at {x}");
                assert!(*variance >= 1e-3 && *variance < 0.2, "{method} {noise:?}: {variance}");
            }
            if method != Method::from(Sngp {}) {
                assert!(prediction.variance.is_none());
                continue;
            }
            let away = model.predict(&column(&[1.0, 2.0, 4.0, 8.0])).unwrap();
            let Predictive::Normal { variance: away, .. } = away.predictive else { panic!() };
            // It grows to the prior's 1 and stays there, up to the features' own error.
            for &away in &away[1..] {
                assert!(away > 10.0 * variance[2], "{noise:?}: {away} against {variance:?}");
            }
            assert!(away[0] < away[1], "{noise:?}: {away:?} at the edge and beyond");
        }
    }
}

#[test]
fn poisson_regression_learns_a_rate() {
    let mut rng = stream(2, Purpose::Shuffle, 0);
    let x: Vec<f32> = (0..256).map(|i| i as f32 / 128.0 - 1.0).collect();
    let counts = x.iter().map(|x| Counts::new((1.0 + x).exp()).unwrap().sample(&mut rng)).collect();
    let data = Labelled::new(column(&x), Targets::values(counts).unwrap()).unwrap();
    let model = fit(regression(Sngp {}, Poisson {}), on_a_line(), &data);
    let inside = [-0.5, 0.0, 0.5, 1.0];
    let prediction = model.predict(&column(&inside)).unwrap();
    let Predictive::Rate(rates) = prediction.predictive else { panic!("not a rate") };
    for (x, rate) in inside.iter().zip(rates) {
        let ratio = rate / f64::from(1.0 + x).exp();
        assert!((0.7..1.4).contains(&ratio), "{rate} at {x} is {ratio} of the true rate");
    }
    let variance = prediction.variance.unwrap()[[1, 0]];
    let away = model.predict(&column(&[8.0])).unwrap().variance.unwrap()[[0, 0]];
    assert!(away > 3.0 * variance, "{away} against {variance}");
}
