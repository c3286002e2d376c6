//! What holds for a pipeline of every kind, whatever its method.

mod common;

use burn::tensor::Device;
use common::{Problem, problems};
use sngp_pipeline::input::{Body, Dataset};
use sngp_pipeline::{Answer, Detail, Outcome, Pipeline};

/// Some rows of a set, in this order.
fn some(set: &Dataset, rows: &[usize]) -> Dataset {
    match &set.body {
        Body::Rows { names, rows: cells } => {
            let cells = rows.iter().map(|&row| cells[row].clone()).collect();
            Dataset::of_cells(names.clone(), cells).unwrap()
        }
        Body::Vectors { matrix, .. } => {
            let (mut values, mut one) = (Vec::new(), Vec::new());
            for &row in rows {
                matrix.read_rows(row, 1, &mut one);
                values.extend_from_slice(&one);
            }
            let values =
                ndarray::Array2::from_shape_vec((rows.len(), matrix.columns()), values).unwrap();
            Dataset::of_vectors(values.view()).unwrap()
        }
        Body::Pictures { pictures, .. } => {
            Dataset::of_pictures(rows.iter().map(|&row| pictures[row].clone()).collect())
        }
    }
}

fn near(one: &Answer, other: &Answer, what: &str) {
    assert_eq!(one.verdict, other.verdict, "{what}");
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * a.abs().max(1.0);
    match (&one.outcome, &other.outcome) {
        (
            Some(Outcome::Class { label: a, probability: p, .. }),
            Some(Outcome::Class { label: b, probability: q, .. }),
        ) => assert!(a == b && close(*p, *q), "{what}: {p} {q}"),
        (Some(Outcome::Number { value: a, .. }), Some(Outcome::Number { value: b, .. })) => {
            assert!(close(*a, *b), "{what}: {a} {b}");
        }
        (a, b) => assert_eq!(a, b, "{what}"),
    }
    match (one.uncertainty, other.uncertainty) {
        // Combined scores count in widths of their tails. Where a model is nearly certain of all
        // held-out rows those are a hundredth of a probability, and what is rounded of it weighs a
        // hundred times more.
        (Some(a), Some(b)) => {
            assert!((a - b).abs() <= 1e-3 * a.abs().max(1.0), "{what}: {a} {b}");
        }
        (a, b) => assert_eq!(a, b, "{what}"),
    }
}

fn check(problem: &Problem, method: &str) {
    let name = format!("{} {method}", problem.name);
    let mut pipeline = problem.fit(method).pipeline;
    let all: Vec<usize> = (0..30).collect();
    let set = some(&problem.data, &all);
    let answers =
        pipeline.answer_with(&set, Detail { probabilities: true, logits: false }).unwrap();
    assert_eq!(answers.len(), 30, "{name}");

    let signature = pipeline.signature();
    let known = pipeline.card().preparation.columns();
    let inputs: Vec<&str> = signature.inputs.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(inputs, known, "{name}");
    for field in ["uncertainty", "decision", "reason"] {
        assert!(signature.outputs.iter().any(|output| output.name == field), "{name}: {field}");
    }
    for answer in &answers {
        match answer.outcome.as_ref().unwrap_or_else(|| panic!("{name}: {:?}", answer.verdict)) {
            Outcome::Class { index, label, probability, probabilities, .. } => {
                let all = probabilities.as_ref().unwrap();
                assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{name}");
                assert_eq!(
                    (&signature.labels[*index], all[*index]),
                    (label, *probability),
                    "{name}"
                );
            }
            Outcome::Number { value, low, high } => {
                let (low, high) = (low.unwrap(), high.unwrap());
                assert!(low <= *value && *value <= high, "{name}: {low} {value} {high}");
            }
        }
    }

    // One at a time and in another order: the answer is the row's own.
    let turned: Vec<usize> = (0..30).rev().collect();
    let backwards = pipeline.answer(&some(&problem.data, &turned)).unwrap();
    for (row, answer) in backwards.iter().rev().enumerate() {
        near(answer, &answers[row], &format!("{name}, turned, row {row}"));
    }
    for row in [0, 7] {
        let one = pipeline.answer(&some(&problem.data, &[row])).unwrap();
        near(&one[0], &answers[row], &format!("{name}, alone, row {row}"));
    }

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    pipeline.save(&path).unwrap();
    let loaded = Pipeline::load(&path, &Device::flex()).unwrap();
    let again = loaded.answer_with(&set, Detail { probabilities: true, logits: false }).unwrap();
    assert_eq!(again, answers, "{name}");
    assert_eq!(loaded.signature(), signature, "{name}");
    assert_eq!(loaded.card(), pipeline.card(), "{name}");
}

#[test]
fn sngp_of_every_kind() {
    problems().iter().for_each(|problem| check(problem, "sngp"));
}

#[test]
fn every_method_on_a_table() {
    let table = &problems()[0];
    for method in sngp::method::Method::all() {
        check(table, method.name());
    }
}

#[test]
fn a_dense_output_of_every_kind() {
    problems().iter().for_each(|problem| check(problem, "deterministic"));
}

/// The network of a caller's own is loaded by the same function once it is registered.
#[test]
fn own_backbones_are_registered_by_the_caller() {
    use burn::module::Module;
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::Tensor;
    use serde::{Deserialize, Serialize};
    use sngp::Pass;
    use sngp::backbone::{Backbone, InputShape};
    use sngp::data::{Labelled, Table, Targets};
    use sngp::model::{Estimator, FitOptions, ModelConfig};
    use sngp::spectral::{SpectralLayer, SpectralLayers};
    use sngp_pipeline::Loader;

    #[derive(Module, Debug)]
    struct Mine {
        layer: Linear,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct MineConfig {
        inputs: usize,
    }

    impl SpectralLayers for Mine {
        fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
            vec![SpectralLayer::dense("layer", &mut self.layer)]
        }
    }

    impl Backbone for Mine {
        const NAME: &'static str = "mine";
        type Config = MineConfig;
        type Batch = Tensor<2>;

        fn build(config: &MineConfig, device: &Device) -> sngp::Result<Self> {
            Ok(Self { layer: LinearConfig::new(config.inputs, config.inputs).init(device) })
        }

        fn forward(&self, batch: Tensor<2>, _: &mut Pass) -> Tensor<2> {
            batch.clone() + self.layer.forward(batch)
        }

        fn width(config: &MineConfig) -> usize {
            config.inputs
        }

        fn batch_of_rows(_: &MineConfig, rows: Tensor<2>) -> Option<Tensor<2>> {
            Some(rows)
        }

        fn input(config: &MineConfig) -> InputShape {
            InputShape::Vectors { width: config.inputs }
        }
    }

    let vectors = common::vectors(5, 60);
    let targets = Targets::classes((0..60).map(|i| i % 3).collect(), 3).unwrap();
    let data = Labelled::new(Table::new(vectors.view()).unwrap(), targets).unwrap();
    let mut config = ModelConfig::default();
    config.training.epochs = 1;
    let model = Estimator::<Mine>::new(config, MineConfig { inputs: 16 })
        .fit(&data, FitOptions::new(&Device::flex()))
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine");
    model.save(&path).unwrap();
    let error = Pipeline::load(&path, &Device::flex()).err().unwrap().to_string();
    assert!(error.contains("unknown backbone `mine`"), "{error}");
    let pipeline = Loader::new().with_backbone::<Mine>().load(&path, &Device::flex()).unwrap();
    let rows = Dataset::of_vectors(vectors.view()).unwrap();
    assert_eq!(pipeline.answer(&rows).unwrap().len(), 60);
}
