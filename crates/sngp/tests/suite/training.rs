//! Training: repeating, and what its options do.

use crate::common::{
    assert_same_bytes, assert_sentence, device, fit, largest_difference, parameters, refused,
    test_points, tiny_backbone, tiny_config, try_fit, two_classes,
};
use crate::resume::Run;
use ndarray::Array2;
use sngp::backbone::{ResFfn, ResFfnConfig};
use sngp::data::{Labelled, Table, Targets};
use sngp::likelihood::{Gaussian, Noise};
use sngp::method::{DeepEnsemble, Deterministic, DnnGp, Duq, Method, Sngp, SngpEnsemble};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::nn::HeadConfig;
use sngp::posterior::{Accumulation, Curvature};
use sngp::train::{Decay, Optimizer, Schedule};
use sngp::{Error, NetworkPlan};

#[test]
fn the_number_of_threads_changes_nothing_but_rounding() {
    for method in [Method::from(Sngp {}), Duq {}.into(), DeepEnsemble { members: 2 }.into()] {
        let [one, two] = [1, 2].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let model = fit(&tiny_config(method.clone()), &two_classes());
                model.predict(&test_points()).unwrap().probabilities().unwrap().to_owned()
            })
        });
        let error = largest_difference(&one, &two);
        assert!(error <= 1e-4, "{method}: {error}");
    }
}

#[test]
fn members_side_by_side_are_the_same_members() {
    for method in [Method::from(DeepEnsemble { members: 3 }), SngpEnsemble { members: 2 }.into()] {
        let run = Run::new(tiny_config(method.clone()));
        let [one, two] = [1, 2]
            .map(|side_by_side| run.fit(FitOptions { side_by_side, ..run.options(None) }).unwrap());
        assert_same_bytes(method.name(), &one, &two);
    }
}

#[test]
fn schedules_rise_and_fall() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    let schedule = |decay| Schedule { warm_up: 0.2, decay };
    for decay in [Decay::Constant, Decay::Linear, Decay::Cosine] {
        close(schedule(decay.clone()).factor(1, 100), 0.05);
        close(schedule(decay.clone()).factor(10, 100), 0.5);
        close(schedule(decay).factor(20, 100), 1.0);
    }
    close(schedule(Decay::Constant).factor(100, 100), 1.0);
    close(schedule(Decay::Linear).factor(60, 100), 0.5);
    close(schedule(Decay::Linear).factor(100, 100), 0.0);
    close(schedule(Decay::Cosine).factor(60, 100), 0.5);
    close(
        schedule(Decay::Cosine).factor(40, 100),
        0.5 * (1.0 + (0.25 * std::f64::consts::PI).cos()),
    );
    close(schedule(Decay::Cosine).factor(100, 100), 0.0);
    let step = Decay::Step { milestones: vec![0.5, 0.75], factor: 0.1 };
    let steps = Schedule { warm_up: 0.0, decay: step };
    for (step, factor) in [(1, 1.0), (50, 1.0), (51, 0.1), (75, 0.1), (76, 0.01), (100, 0.01)] {
        close(steps.factor(step, 100), factor);
    }
    close(Schedule::default().factor(1, 1), 1.0);
    for bad in [
        Schedule { warm_up: 1.5, decay: Decay::Constant },
        Schedule { warm_up: f64::NAN, decay: Decay::Constant },
        Schedule { warm_up: 0.0, decay: Decay::Step { milestones: vec![2.0], factor: 0.1 } },
        Schedule { warm_up: 0.0, decay: Decay::Step { milestones: vec![0.5], factor: 0.0 } },
    ] {
        assert!(matches!(bad.check(), Err(Error::Config { .. })), "{bad:?}");
    }
}

/// All parameters of the first network in one row.
fn weights(model: &Model<ResFfn>) -> Vec<f64> {
    let network = model.networks().next().unwrap();
    parameters(network).into_values().flat_map(|(_, v)| v).map(f64::from).collect()
}

fn without_dropout(config: &ModelConfig) -> Model<ResFfn> {
    let backbone = ResFfnConfig { dropout: 0.0, ..tiny_backbone() };
    Estimator::new(config.clone(), backbone)
        .fit(&two_classes(), FitOptions::new(&device()))
        .unwrap()
}

#[test]
fn half_batches_accumulated_are_a_full_batch() {
    for method in [Method::from(Sngp {}), Deterministic {}.into(), Duq {}.into()] {
        let mut full = tiny_config(method.clone());
        full.training.optimizer = Optimizer::Sgd { momentum: 0.0 };
        full.training.learning_rate = 0.05;
        full.training.batch_size = 32;
        let mut halves = full.clone();
        halves.training.batch_size = 16;
        halves.training.accumulate = 2;
        let error = largest_difference(
            &weights(&without_dropout(&full)),
            &weights(&without_dropout(&halves)),
        );
        assert!(error < 1e-4, "{method}: the weights differ by {error}");
    }
}

/// Every example is the same, so every batch has the same gradient: two steps are two steps,
/// whether a group has two batches or, at the end of the epoch, one.
#[test]
fn a_last_group_of_fewer_batches_is_averaged_over_those() {
    let fit = |rows: usize, accumulate: usize| {
        let mut config = tiny_config(Deterministic {});
        config.likelihood = Gaussian { noise: Noise::Given(1.0) }.into();
        config.training.optimizer = Optimizer::Sgd { momentum: 0.0 };
        config.training.learning_rate = 0.05;
        config.training.epochs = 1;
        config.training.batch_size = 2;
        config.training.accumulate = accumulate;
        let inputs = Table::new(Array2::<f32>::ones((rows, 2)).view()).unwrap();
        let data = Labelled::new(inputs, Targets::values(vec![3.0; rows]).unwrap()).unwrap();
        let backbone = ResFfnConfig { dropout: 0.0, ..tiny_backbone() };
        Estimator::new(config, backbone).fit(&data, FitOptions::new(&device())).unwrap()
    };
    let error = largest_difference(&weights(&fit(6, 2)), &weights(&fit(4, 1)));
    assert!(error < 1e-6, "{error}");
    assert!(largest_difference(&weights(&fit(6, 1)), &weights(&fit(4, 1))) > 1e-3);
}

#[test]
fn clipping_limits_the_step() {
    let mut config = tiny_config(Deterministic {});
    config.training.optimizer = Optimizer::Sgd { momentum: 0.0 };
    config.training.learning_rate = 1.0;
    config.training.batch_size = 64;
    config.training.epochs = 1;
    let backbone = ResFfnConfig { dropout: 0.0, ..tiny_backbone() };
    let plan = NetworkPlan::<ResFfn> {
        backbone: &backbone,
        head: HeadConfig::Dense,
        spectral: None,
        outputs: 2,
        log_noise: None,
        pretrained: None,
        pretrained_head: None,
        seed: config.seed,
    };
    let start: Vec<f64> = parameters(&plan.build(&device()).unwrap())
        .into_values()
        .flat_map(|(_, values)| values)
        .map(f64::from)
        .collect();
    let step = |clip_norm| {
        let mut config = config.clone();
        config.training.clip_norm = clip_norm;
        let end = weights(&without_dropout(&config));
        start.iter().zip(&end).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    let free = step(None);
    assert!(free > 0.2, "the gradient is too small to clip: {free}");
    assert!((step(Some(0.1)) - 0.1).abs() < 1e-4, "{}", step(Some(0.1)));
    assert!((step(Some(100.0)) - free).abs() < 1e-6, "a limit above the norm changes nothing");
}

#[test]
fn divergence_is_an_error() {
    for method in [Method::from(Sngp {}), Deterministic {}.into(), DnnGp {}.into(), Duq {}.into()] {
        let mut config = tiny_config(method.clone());
        config.training.optimizer = Optimizer::Sgd { momentum: 0.0 };
        config.training.learning_rate = 1e8;
        config.training.epochs = 20;
        let error = refused(method.name(), try_fit(&config, &two_classes()));
        assert!(matches!(error, Error::Training(_)), "{method}: {error}");
        assert_sentence(&error, "learning rate");
    }
}

/// The loss of the only step is still a number; the weights after it are not.
#[test]
fn divergence_in_the_last_step_is_an_error_too() {
    for method in [Method::from(Sngp {}), Deterministic {}.into(), Duq {}.into()] {
        let mut config = tiny_config(method.clone());
        config.training.optimizer = Optimizer::Sgd { momentum: 0.0 };
        config.training.learning_rate = 1e300;
        config.training.batch_size = 64;
        config.training.epochs = 1;
        let error = refused(method.name(), try_fit(&config, &two_classes()));
        assert!(matches!(error, Error::Training(_)), "{method}: {error}");
        assert_sentence(&error, "learning rate");
    }
}

#[test]
fn posteriors_accumulated_in_training_are_usable() {
    let points = test_points();
    let fit_with = |accumulation| {
        let mut config = tiny_config(Sngp {});
        config.training.epochs = 20;
        config.posterior.accumulation = accumulation;
        // Sixty-four sure examples hardly outweigh the ridge under any other curvature.
        config.posterior.curvature = Some(Curvature::Gaussian);
        fit(&config, &two_classes())
    };
    let reference = fit_with(Accumulation::FinalPass);
    let expected = reference.predict(&points).unwrap().variance.unwrap();
    for accumulation in [Accumulation::FinalEpoch, Accumulation::MovingAverage { momentum: 0.9 }] {
        let model = fit_with(accumulation);
        let precision = model.precisions().next().unwrap();
        let averaged = accumulation != Accumulation::FinalEpoch;
        assert_eq!(precision.is_average(), averaged);
        assert_eq!(precision.rows(), if averaged { 20 * 64 } else { 64 });
        let variance = model.predict(&points).unwrap().variance.unwrap();
        assert!(variance.iter().all(|&v| (0.0..1.5).contains(&v)));
        // Dropout and an older network blur it; near and far remain what they are.
        let error = largest_difference(&variance, &expected);
        assert!(error < 0.25, "{accumulation:?}: {error} from the final pass");
        let far = Table::new(ndarray::array![[30.0f32, 30.0]].view()).unwrap();
        let far = model.predict(&far).unwrap().variance.unwrap()[[0, 0]];
        let near = Table::new(ndarray::array![[1.5f32, 0.0]].view()).unwrap();
        let near = model.predict(&near).unwrap().variance.unwrap()[[0, 0]];
        assert!(far > 2.0 * near, "{accumulation:?}: {far} far, {near} near");
    }
}

#[test]
fn options_outside_their_range_are_refused() {
    type Change = fn(&mut ModelConfig);
    let changes: [(&str, Change); 14] = [
        ("epochs", |c| c.training.epochs = 0),
        ("batch_size", |c| c.training.batch_size = 0),
        ("accumulate", |c| c.training.accumulate = 0),
        ("learning_rate", |c| c.training.learning_rate = f64::NAN),
        ("learning_rate", |c| c.training.head_learning_rate = Some(-1.0)),
        ("weight_decay", |c| c.training.weight_decay = -1.0),
        ("clip_norm", |c| c.training.clip_norm = Some(0.0)),
        ("warm_up", |c| c.training.schedule.warm_up = 2.0),
        ("ridge", |c| c.posterior.ridge = 0.0),
        ("momentum", |c| c.posterior.accumulation = Accumulation::MovingAverage { momentum: 1.0 }),
        ("momentum", |c| c.training.optimizer = Optimizer::Sgd { momentum: f64::NAN }),
        ("length scale", |c| c.gaussian_process.features.length_scale = -1.0),
        ("dense_bound", |c| c.spectral.dense_bound = 0.0),
        ("warm_up", |c| c.spectral.warm_up = 3),
    ];
    for (name, change) in changes {
        let mut config = tiny_config(Sngp {});
        change(&mut config);
        let error = refused(name, try_fit(&config, &two_classes()));
        assert!(matches!(error, Error::Config { .. }), "{name}: {error}");
        assert_sentence(&error, name);
    }
}
