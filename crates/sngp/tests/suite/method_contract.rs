//! What every entry of a registry promises. A new entry is tested the moment its line is there.

use std::collections::BTreeMap;

use crate::common::{
    assert_distribution, assert_sentence, contents, device, fit, largest_difference, small_methods,
    test_points, three_classes, tiny_config, two_classes,
};
use burn::module::Module;
use burn::tensor::{Tensor, TensorData};
use ndarray::array;
use sngp::Error;
use sngp::backbone::{BACKBONES, Backbone, BertConfig, InputShape, ResFfn, Shipped};
use sngp::data::{Inputs, Labelled, Table, Targets};
use sngp::likelihood::Likelihood;
use sngp::method::Method;
use sngp::model::{Model, ModelConfig, load_any};
use sngp::predict::{Integration, Prediction, Predictive};
use sngp::score::Score;

/// The rows of a table in another order and in batches of another size.
fn predict_in_batches(
    model: &Model<ResFfn>,
    inputs: &Table,
    order: &[usize],
    size: usize,
) -> Prediction {
    let parts: Vec<Prediction> = order
        .chunks(size)
        .map(|rows| model.predict_batch(inputs.batch(rows, &device())).unwrap())
        .collect();
    let mut by_row: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (position, row) in order.iter().enumerate() {
        by_row.insert(*row, (position / size, position % size));
    }
    let pick = |array: fn(&Prediction) -> Option<ndarray::Array2<f64>>| {
        let arrays: Vec<_> = parts.iter().filter_map(array).collect();
        let rows: Vec<_> =
            by_row.values().map(|&(part, row)| arrays.get(part).map(|a| a.row(row))).collect();
        let rows: Option<Vec<_>> = rows.into_iter().collect();
        rows.map(|rows| ndarray::stack(ndarray::Axis(0), &rows).unwrap())
    };
    Prediction {
        predictive: Predictive::Classes(
            pick(|p| Some(p.probabilities().unwrap().to_owned())).unwrap(),
        ),
        logits: pick(|p| Some(p.logits.clone())).unwrap(),
        variance: pick(|p| p.variance.clone()),
        mean_field_factor: parts[0].mean_field_factor,
        hidden: None,
        detectors: None,
        combination: None,
    }
}

fn assert_close(what: &str, left: &Prediction, right: &Prediction) {
    let classes = |p: &Prediction| p.probabilities().unwrap().to_owned();
    let error = largest_difference(&classes(left), &classes(right));
    assert!(error <= 1e-5, "{what}: probabilities differ by {error}");
    assert_eq!(left.variance.is_some(), right.variance.is_some(), "{what}");
    if let (Some(left), Some(right)) = (&left.variance, &right.variance) {
        let error = largest_difference(left, right);
        assert!(error <= 1e-5, "{what}: variances differ by {error}");
    }
}

#[test]
fn every_method_keeps_the_contract() {
    let points = test_points();
    for data in [two_classes(), three_classes()] {
        for method in small_methods() {
            let what = format!("{method}, {} rows", data.rows());
            let config = tiny_config(method.clone());
            let model = fit(&config, &data);
            let prediction = model.predict(&points).unwrap();
            assert_distribution(&what, &prediction);
            assert_eq!(prediction.rows(), points.rows(), "{what}");

            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("model");
            model.save(&path).unwrap();
            let loaded = Model::<ResFfn>::load(&path, &device()).unwrap();
            assert_eq!(loaded.predict(&points).unwrap(), prediction, "{what}: loading changed it");
            assert_eq!(loaded.config(), model.config(), "{what}");
            assert_eq!(
                crate::common::saved(&loaded),
                contents(&path),
                "{what}: saved again, it differs"
            );

            let reversed: Vec<usize> = (0..points.rows()).rev().collect();
            let whole = predict_in_batches(&model, &points, &reversed, points.rows());
            assert_close(&what, &whole, &prediction);
            let single = predict_in_batches(&model, &points, &reversed, 1);
            assert_close(&what, &single, &prediction);
            let seven = predict_in_batches(&model, &points, &reversed, 7);
            assert_close(&what, &seven, &prediction);

            crate::common::assert_same_bytes(&what, &fit(&config, &data), &model);
            let mut other = config.clone();
            other.seed += 1;
            let other = crate::common::saved(&fit(&other, &data));
            let tensors = "model.safetensors";
            // The exact GP draws nothing, so a seed changes nothing but its own entry.
            let random = !matches!(method, Method::ExactGp(_));
            assert_eq!(other[tensors] != contents(&path)[tensors], random, "{what}: seeds");
            assert_ne!(other["config.json"], contents(&path)["config.json"], "{what}: seeds");

            for score in Score::all() {
                match score.evaluate(&prediction) {
                    Ok(values) => {
                        assert_eq!(values.len(), points.rows(), "{what}, {score}");
                        assert!(values.iter().all(|v| v.is_finite()), "{what}, {score}");
                    }
                    Err(error) => assert_sentence(&error, "this model"),
                }
            }
            let default = method.recipe().score.evaluate(&prediction);
            assert!(default.is_ok(), "{what}: its default score does not evaluate");
        }
    }
}

/// Its one latent function stands for both classes.
#[test]
fn scores_of_the_exact_gp_favour_neither_class() {
    let (inputs, labels) = crate::common::blobs(2, 10, 5);
    let predict = |labels: Vec<usize>| {
        let table = Table::new(inputs.view()).unwrap();
        let data = Labelled::new(table, Targets::classes(labels, 2).unwrap()).unwrap();
        fit(&tiny_config(sngp::method::ExactGp {}), &data).predict(&test_points()).unwrap()
    };
    let swapped = labels.iter().map(|label| 1 - label).collect();
    let (here, mirrored) = (predict(labels), predict(swapped));
    for score in crate::common::plain_scores() {
        let pairs = [&here, &mirrored].map(|prediction| score.evaluate(prediction).unwrap());
        let error = crate::common::largest_difference(&pairs[0], &pairs[1]);
        assert!(error < 1e-6, "{score}: {error}");
    }
}

/// Enough training to learn blobs that a line separates.
#[test]
fn every_method_learns() {
    let (data, test) = (two_classes(), crate::common::blobs(2, 40, 77));
    let inputs = Table::new(test.0.view()).unwrap();
    for method in small_methods() {
        let mut config = tiny_config(method.clone());
        config.training.epochs = 20;
        let labels = fit(&config, &data).predict(&inputs).unwrap().labels().unwrap();
        let right = labels.iter().zip(&test.1).filter(|(a, b)| a == b).count();
        assert!(right >= 76, "{method}: {right} of 80");
    }
}

fn assert_registry<T>(kind: &str, all: Vec<T>, name: fn(&T) -> &'static str)
where
    T: std::str::FromStr<Err = Error>
        + std::fmt::Display
        + std::fmt::Debug
        + PartialEq
        + serde::Serialize
        + serde::de::DeserializeOwned,
{
    let names: Vec<&str> = all.iter().map(name).collect();
    for entry in &all {
        assert_eq!(&entry.to_string().parse::<T>().unwrap(), entry);
        let json = serde_json::to_value(entry).unwrap();
        assert_eq!(json["name"], name(entry));
        assert_eq!(&serde_json::from_value::<T>(json).unwrap(), entry);
        let bare = serde_json::json!({ "name": name(entry) });
        assert_eq!(&serde_json::from_value::<T>(bare).unwrap(), entry, "defaults by name");
        assert_eq!(names.iter().filter(|other| **other == name(entry)).count(), 1);
    }
    let error = "no_such_entry".parse::<T>().unwrap_err();
    assert_sentence(&error, kind);
    for name in names {
        assert_sentence(&error, name);
    }
    assert!(serde_json::from_value::<T>(serde_json::json!({ "name": "no_such_entry" })).is_err());
}

#[test]
fn registries_list_parse_and_round_trip() {
    assert_registry("method", Method::all(), Method::name);
    assert_registry("likelihood", Likelihood::all(), Likelihood::name);
    assert_registry("score", Score::all(), Score::name);
    for summary in Method::all().iter().map(|m| m.summary()) {
        assert!(!summary.is_empty());
    }
    for summary in Score::all().iter().map(|s| s.summary()) {
        assert!(!summary.is_empty());
    }
}

/// Targets each likelihood explains, and ones it does not.
fn targets(likelihood: &Likelihood) -> (Targets, Targets) {
    let classes = |n| Targets::classes(vec![0, 1, 1, 0], n).unwrap();
    let values = |v: [f32; 4]| Targets::values(v.to_vec()).unwrap();
    match likelihood {
        Likelihood::Softmax(_) => (classes(3), values([0.0, 1.0, 2.0, 0.5])),
        Likelihood::Bernoulli(_) => (classes(2), classes(3)),
        Likelihood::Gaussian(_) => (values([-1.5, 0.0, 2.5, 1e3]), classes(2)),
        Likelihood::Poisson(_) => (values([0.0, 1.0, 7.0, 2.0]), values([0.0, 1.0, 0.5, 2.0])),
    }
}

#[test]
fn every_likelihood_keeps_the_contract() {
    for likelihood in Likelihood::all() {
        let (fitting, other) = targets(&likelihood);
        likelihood.check(&fitting).unwrap();
        let error = likelihood.check(&other).unwrap_err();
        assert!(error.to_string().split_whitespace().count() > 3, "{error}");

        let outputs = likelihood.outputs(&fitting);
        let logits: Vec<f32> = (0..4 * outputs).map(|i| 0.3 * i as f32 - 1.0).collect();
        let logits = Tensor::<2>::from_data(TensorData::new(logits, [4, outputs]), &device());
        let batch = fitting.batch(&[0, 1, 2, 3], &device());
        let noise = likelihood.initial_log_noise();
        let log_noise = noise.map(|noise| Tensor::<1>::full([1], noise, &device()));
        let loss = likelihood.loss(logits.clone(), &batch, log_noise).into_scalar::<f32>();
        assert!(loss.is_finite(), "{likelihood}: the loss is {loss}");

        let logits = crate::common::host_matrix(logits);
        let variance = array![[0.1], [0.0], [3.0], [1.0]];
        for variance in [None, Some(variance.view())] {
            let predictive =
                likelihood.predict(logits.view(), variance, &Integration::default(), noise);
            let (kind, finite) = match predictive.unwrap() {
                Predictive::Classes(p) => {
                    assert!(p.rows().into_iter().all(|row| (row.sum() - 1.0).abs() < 1e-9));
                    ("classes", p.iter().all(|v| v.is_finite()))
                }
                Predictive::Normal { mean, variance } => {
                    assert!(variance.iter().all(|v| *v > 0.0));
                    ("normal", mean.iter().chain(&variance).all(|v| v.is_finite()))
                }
                Predictive::Rate(rate) => ("rate", rate.iter().all(|v| v.is_finite() && *v > 0.0)),
            };
            assert!(finite, "{likelihood}");
            let expected = match likelihood {
                Likelihood::Softmax(_) | Likelihood::Bernoulli(_) => "classes",
                Likelihood::Gaussian(_) => "normal",
                Likelihood::Poisson(_) => "rate",
            };
            assert_eq!(kind, expected, "{likelihood}");
        }
        let variance = Some(variance.to_owned());
        let integration = Integration::default();
        let prediction = Prediction {
            predictive: likelihood
                .predict(logits.view(), variance.as_ref().map(|v| v.view()), &integration, noise)
                .unwrap(),
            logits: logits.clone(),
            variance,
            mean_field_factor: integration.mean_field_factor(),
            hidden: None,
            detectors: None,
            combination: None,
        };
        let config = ModelConfig { likelihood: likelihood.clone(), ..Default::default() };
        let score = config.score();
        assert!(score.evaluate(&prediction).is_ok(), "{likelihood}: {score} does not evaluate");

        let known = likelihood.curvatures();
        assert_eq!(likelihood.curvature(None).unwrap(), known[0]);
        for &curvature in known {
            assert_eq!(likelihood.curvature(Some(curvature)).unwrap(), curvature);
            assert!(curvature.weights(logits.view()).unwrap().iter().all(|w| *w >= 0.0));
        }
        assert!(likelihood.ridge_factor(noise) > 0.0);
    }
}

#[test]
fn a_curvature_of_another_likelihood_is_refused() {
    use sngp::posterior::Curvature;
    let error = Likelihood::default().curvature(Some(Curvature::Poisson)).unwrap_err();
    assert_sentence(&error, "Poisson");
    let mut config = tiny_config(sngp::method::Sngp {});
    config.posterior.curvature = Some(Curvature::Bernoulli);
    assert!(crate::common::try_fit(&config, &two_classes()).is_err());
}

#[test]
fn gp_methods_take_every_curvature_and_integration() {
    use sngp::posterior::Curvature;
    let points = test_points();
    for curvature in [Curvature::PerClass, Curvature::SharedMax, Curvature::Gaussian] {
        let integrations = [
            Integration::MeanField { factor: 1.0 },
            Integration::MonteCarlo { samples: 7, seed: 5 },
        ];
        for integration in integrations {
            let mut config = tiny_config(sngp::method::Sngp {});
            config.posterior.curvature = Some(curvature);
            config.integration = integration;
            let model = fit(&config, &three_classes());
            let prediction = model.predict(&points).unwrap();
            assert_distribution("sngp", &prediction);
            let columns = if curvature == Curvature::PerClass { 3 } else { 1 };
            let variance = prediction.variance.as_ref().unwrap();
            assert_eq!(variance.dim(), (points.rows(), columns));
            assert!(variance.iter().all(|&v| (0.0..1.5).contains(&v)));
            let single = predict_in_batches(&model, &points, &(0..37).collect::<Vec<_>>(), 1);
            assert_close("sngp", &single, &prediction);
        }
    }
}

#[test]
fn every_backbone_is_found_by_name() {
    for entry in BACKBONES {
        assert!(!entry.summary.is_empty());
        let config = match entry.name {
            "identity" | "standardize" => serde_json::json!({ "width": 3 }),
            "bert" => serde_json::to_value(BertConfig::small(50, 16)).unwrap(),
            "pooler" => serde_json::to_value(BertConfig::small(50, 16).pooler).unwrap(),
            _ => serde_json::json!({}),
        };
        let config = Shipped::read_config(entry.name, config).unwrap();
        assert_eq!(Shipped::name(&config), entry.name);
        // Saved and read back it is the same, whatever wraps it.
        let saved = serde_json::to_value(&config).unwrap();
        assert_eq!(Shipped::read_config(entry.name, saved).unwrap(), config);
        let network = Shipped::build(&config, &device()).unwrap();
        assert!(network.num_params() > 0 || entry.name == "identity", "{}", entry.name);
        assert_ne!(Shipped::input(&config), InputShape::Other, "{}", entry.name);
    }
    let error = crate::common::refused(
        "an unknown backbone",
        Shipped::read_config("no_such_backbone", serde_json::json!({})),
    );
    assert_sentence(&error, "res_ffn");
}

#[test]
fn a_model_loads_without_knowing_its_backbone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let model = fit(&tiny_config(sngp::method::Sngp {}), &two_classes());
    model.save(&path).unwrap();
    let loaded = load_any(&path, &device()).unwrap().inspect().unwrap();
    assert_eq!(loaded.backbone, "res_ffn");
    assert_eq!(&loaded.config, model.config());
    assert_eq!(loaded.labels, ["0", "1"]);
    assert_eq!(loaded.members.len(), 1);
    let member = &loaded.members[0];
    assert!(member.normalized && member.spectral.worst_ratio() <= 1.05);
    assert_eq!(member.posterior.as_ref().unwrap().rows, 64);
}
