//! The output layer solved to convergence.

use std::ops::ControlFlow;

use burn::tensor::Device;
use ndarray::{Array1, Array2, Axis};
use rand::RngExt;
use rand_distr::StandardNormal;
use sngp::backbone::{Identity, IdentityConfig, Pooler, PoolerConfig};
use sngp::data::{Labelled, Table, Targets};
use sngp::likelihood::{Gaussian, Likelihood};
use sngp::method::Method;
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::posterior::Curvature;
use sngp::predict::Predictive;
use sngp::seed::{Purpose, stream};

/// Three clouds in the plane, which overlap.
fn clouds(rows: usize) -> (Array2<f32>, Vec<usize>) {
    let mut rng = stream(5, Purpose::MonteCarlo, 0);
    let labels: Vec<usize> = (0..rows).map(|row| row % 3).collect();
    let centres = [[0.0f32, 0.0], [2.0, 0.0], [0.0, 2.0]];
    let inputs = Array2::from_shape_fn((rows, 2), |(row, column)| {
        centres[row % 3][column] + 0.8 * rng.sample::<f32, _>(StandardNormal)
    });
    (inputs, labels)
}

fn config(method: &str) -> ModelConfig {
    let mut config = ModelConfig::new(method.parse::<Method>().unwrap());
    config.gaussian_process.features.count = 40;
    config.gaussian_process.l2 = 0.3;
    config.posterior.curvature = Some(Curvature::Gaussian);
    config
}

fn fit(config: ModelConfig, inputs: &Array2<f32>, targets: Targets) -> Model<Identity> {
    let data = Labelled::new(Table::new(inputs.view()).unwrap(), targets).unwrap();
    let estimator = Estimator::<Identity>::new(config, IdentityConfig { width: inputs.ncols() });
    let (model, convergence) =
        estimator.fit_output(&data, FitOptions::new(&Device::flex())).unwrap();
    assert!(convergence.converged, "{convergence:?}");
    model
}

/// `sum_i loss_i + l2 ||W||^2 / 2` of softmax regression, and its gradient, in f64.
fn objective(
    features: &Array2<f64>,
    labels: &[usize],
    weights: &Array2<f64>,
    l2: f64,
) -> (f64, Array2<f64>) {
    let mut residual = features.dot(weights);
    let mut loss = 0.0;
    for (mut row, &label) in residual.axis_iter_mut(Axis(0)).zip(labels) {
        let top = row.fold(f64::MIN, |a, &b| a.max(b));
        let sum: f64 = row.iter().map(|v| (v - top).exp()).sum();
        loss += top + sum.ln() - row[label];
        row.mapv_inplace(|v| (v - top).exp() / sum);
        row[label] -= 1.0;
    }
    let value = loss + 0.5 * l2 * weights.iter().map(|w| w * w).sum::<f64>();
    (value, features.t().dot(&residual) + weights * l2)
}

/// Plain gradient descent, slow and sure.
fn least(features: &Array2<f64>, labels: &[usize], l2: f64) -> f64 {
    let mut weights = Array2::zeros((features.ncols(), 3));
    let rows = features.nrows() as f64;
    for _ in 0..20_000 {
        let (_, gradient) = objective(features, labels, &weights, l2);
        weights = weights - gradient * (1.0 / (0.5 * rows + l2));
    }
    objective(features, labels, &weights, l2).0
}

#[test]
fn the_gaussian_process_reaches_the_least_objective() {
    let (inputs, labels) = clouds(150);
    let model = fit(config("sngp"), &inputs, Targets::classes(labels.clone(), 3).unwrap());
    let network = model.networks().next().unwrap();
    let batch = burn::tensor::Tensor::<2>::from_data(
        burn::tensor::TensorData::new(inputs.iter().copied().collect::<Vec<f32>>(), [150, 2]),
        &Device::flex(),
    );
    let output = network.forward(batch, &mut sngp::Pass::evaluate());
    let features: Vec<f64> = output.features.unwrap().into_data().iter::<f64>().collect();
    let features = Array2::from_shape_vec((150, 40), features).unwrap();
    // The solution's objective, from its logits: W = (Phi^T Phi)^+ would lose digits.
    let logits = model.predict(&Table::new(inputs.view()).unwrap()).unwrap().logits;
    let data_loss: f64 = logits
        .axis_iter(Axis(0))
        .zip(&labels)
        .map(|(row, &label)| row.iter().map(|v| v.exp()).sum::<f64>().ln() - row[label])
        .sum();
    let least = least(&features, &labels, 0.3);
    let found = {
        let estimator = Estimator::<Identity>::new(config("sngp"), IdentityConfig { width: 2 });
        let data = Labelled::new(
            Table::new(inputs.view()).unwrap(),
            Targets::classes(labels.clone(), 3).unwrap(),
        )
        .unwrap();
        estimator.fit_output(&data, FitOptions::new(&Device::flex())).unwrap().1.objective * 150.0
    };
    assert!(data_loss < found, "the prior has its share: {data_loss} {found}");
    assert!(found < 1.003 * least && found > 0.999 * least, "{found} against {least}");
}

#[test]
fn regression_is_ridge_regression() {
    let mut rng = stream(9, Purpose::MonteCarlo, 0);
    let inputs = Array2::from_shape_fn((300, 1), |(row, _)| row as f32 / 50.0 - 3.0);
    let truth: Vec<f32> = inputs.iter().map(|x| x.sin()).collect();
    let noisy = truth.iter().map(|y| y + 0.1 * rng.sample::<f32, _>(StandardNormal)).collect();
    let mut config = config("sngp");
    config.likelihood = Likelihood::Gaussian(Gaussian::default());
    config.gaussian_process.l2 = 1.0;
    let model = fit(config, &inputs, Targets::values(noisy).unwrap());
    let noise = model.networks().next().unwrap().log_noise_value().unwrap().exp();
    assert!((0.007..0.013).contains(&noise), "0.1^2 was drawn, {noise} found");
    let prediction = model.predict(&Table::new(inputs.view()).unwrap()).unwrap();
    let Predictive::Normal { mean, .. } = prediction.predictive else { panic!() };
    let error: f64 = mean.iter().zip(&truth).map(|(m, t)| (m - f64::from(*t)).powi(2)).sum();
    assert!((error / 300.0).sqrt() < 0.04);
    // Far away the mean is gone and the variance is the prior's.
    let far = model.predict(&Table::new(ndarray::array![[60.0f32]].view()).unwrap()).unwrap();
    let near = prediction.variance.unwrap().mean().unwrap();
    assert!(far.variance.unwrap()[[0, 0]] > 20.0 * near);
}

#[test]
fn a_dense_layer_is_logistic_regression() {
    let (inputs, labels) = clouds(150);
    let model = fit(config("deterministic"), &inputs, Targets::classes(labels.clone(), 3).unwrap());
    let features = Array2::from_shape_fn((150, 3), |(row, column)| {
        if column == 2 { 1.0 } else { f64::from(inputs[[row, column]]) }
    });
    let least = least(&features, &labels, 0.3);
    let logits = model.predict(&Table::new(inputs.view()).unwrap()).unwrap().logits;
    let loss: f64 = logits
        .axis_iter(Axis(0))
        .zip(&labels)
        .map(|(row, &label)| row.iter().map(|v| v.exp()).sum::<f64>().ln() - row[label])
        .sum();
    assert!(loss < least && loss > 0.9 * least, "{loss} {least}");
}

#[test]
fn models_survive_a_folder() {
    let (inputs, labels) = clouds(60);
    let folder = tempfile::tempdir().unwrap();
    for method in ["sngp", "dnn_gp", "deterministic"] {
        let model = fit(config(method), &inputs, Targets::classes(labels.clone(), 3).unwrap());
        let path = folder.path().join(method);
        model
            .clone()
            .with_logit_scale(2.0)
            .map_or_else(|_| model.save(&path), |m| m.save(&path))
            .unwrap();
        let again = Model::<Identity>::load(&path, &Device::flex()).unwrap();
        let table = Table::new(inputs.view()).unwrap();
        let (before, after) = (model.predict(&table).unwrap(), again.predict(&table).unwrap());
        let scale = if method == "deterministic" { 1.0 } else { 2.0 };
        let apart = (&before.logits * scale - &after.logits).mapv(f64::abs);
        assert!(apart.iter().all(|d| *d < 1e-4), "{method}");
        assert_eq!(before.variance, after.variance);
    }
}

#[test]
fn what_is_not_convex_is_refused() {
    let (inputs, labels) = clouds(30);
    let data =
        Labelled::new(Table::new(inputs.view()).unwrap(), Targets::classes(labels, 3).unwrap())
            .unwrap();
    for method in ["deep_ensemble", "mc_dropout", "duq", "exact_gp"] {
        let estimator = Estimator::<Pooler>::new(
            config(method),
            PoolerConfig { width: 2, ..Default::default() },
        );
        let error = estimator.fit_output(&data, FitOptions::new(&Device::flex())).unwrap_err();
        assert!(error.to_string().contains(method), "{error}");
    }
    let mut config = config("sngp");
    config.gaussian_process.l2 = 0.0;
    let estimator = Estimator::<Identity>::new(config, IdentityConfig { width: 2 });
    let error = estimator.fit_output(&data, FitOptions::new(&Device::flex())).unwrap_err();
    assert!(error.to_string().contains("l2"), "{error}");
}

#[test]
fn what_is_added_can_be_forgotten() {
    let (inputs, labels) = clouds(90);
    let model = fit(config("sngp"), &inputs, Targets::classes(labels, 3).unwrap());
    let more = inputs.mapv(|v| v + 3.0);
    let part = model.accumulate(&Table::new(more.view()).unwrap()).unwrap();
    let table = Table::new(more.view()).unwrap();
    let variance = |model: &Model<Identity>| -> Array1<f64> {
        model.predict(&table).unwrap().variance.unwrap().column(0).to_owned()
    };
    let before = variance(&model);
    let mut sums: Vec<_> = model.precisions().cloned().collect();
    sums[0].merge(&part[0]).unwrap();
    let updated = model.clone().with_precisions(sums.clone()).unwrap();
    assert!(variance(&updated).mean().unwrap() < 0.7 * before.mean().unwrap());
    sums[0].remove(&part[0]).unwrap();
    let restored = model.clone().with_precisions(sums.clone()).unwrap();
    let apart = (&variance(&restored) - &before).mapv(f64::abs);
    assert!(apart.iter().all(|d| *d < 1e-6), "{apart}");
    // Rows that are not in it cannot be taken out.
    assert!(sums[0].remove(&part[0]).is_err());
}

#[test]
fn a_path_ends_where_single_solutions_do_and_its_layer_is_a_good_start() {
    let (inputs, labels) = clouds(300);
    let (rest, _) = clouds(330);
    let held_out = rest.slice(ndarray::s![300.., ..]).to_owned();
    let held_out = Table::new(held_out.view()).unwrap();
    let targets = Targets::classes(labels, 3).unwrap();
    let data = Labelled::new(Table::new(inputs.view()).unwrap(), targets).unwrap();
    let estimator = Estimator::<Identity>::new(config("sngp"), IdentityConfig { width: 2 });
    let options = || FitOptions::new(&Device::flex());
    let mut steps = Vec::new();
    estimator
        .output_path(&data, &held_out, &[3.0, 1.0, 0.3], options(), &mut |step| {
            steps.push(step);
            if steps.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap();
    let strengths: Vec<f64> = steps.iter().map(|step| step.l2).collect();
    assert_eq!(strengths, [3.0, 1.0, 0.3]);
    let last = steps.pop().unwrap();
    let (cold, needed) = estimator.fit_output(&data, options()).unwrap();
    let apart = &cold.predict(&held_out).unwrap().logits - &last.logits;
    assert!(apart.iter().all(|v| v.abs() < 0.15), "{apart}");
    let (warm, less) = estimator.with_head(last.head).fit_output(&data, options()).unwrap();
    assert!(less.iterations < needed.iterations, "{less:?} {needed:?}");
    assert!((less.objective / needed.objective - 1.0).abs() < 2e-3, "{less:?} {needed:?}");
    let apart = &cold.predict(&held_out).unwrap().logits - &warm.predict(&held_out).unwrap().logits;
    assert!(apart.iter().all(|v| v.abs() < 0.15), "{apart}");
}

#[test]
fn a_path_ends_when_enough_was_seen_and_refuses_what_has_no_solution() {
    let (inputs, labels) = clouds(60);
    let table = Table::new(inputs.view()).unwrap();
    let data = Labelled::new(table.clone(), Targets::classes(labels, 3).unwrap()).unwrap();
    let estimator = Estimator::<Identity>::new(config("sngp"), IdentityConfig { width: 2 });
    let path = |strengths: &[f64]| {
        let mut seen = 0;
        let options = FitOptions::new(&Device::flex());
        let done = estimator.output_path(&data, &table, strengths, options, &mut |_| {
            seen += 1;
            ControlFlow::Break(())
        });
        done.map(|()| seen)
    };
    assert_eq!(path(&[1.0, 0.5]).unwrap(), 1);
    assert!(path(&[1.0, 0.0]).unwrap_err().to_string().contains("l2"));
}
