//! The wide residual network as a backbone of the library's methods.

use burn::nn::LinearConfig;
use burn::tensor::{Device, Tensor};
use sngp::Pass;
use sngp::backbone::{Backbone, WideResNet, WideResNetConfig};
use sngp::data::{Inputs, Labelled, Targets};
use sngp::method::{Deterministic, Duq, McDropout, Method, Sngp};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::train::Optimizer;
use sngp::weights::{KeyMap, PublishedWeights};

use crate::common::Shades;

fn fit(method: impl Into<Method>) -> Model<WideResNet> {
    let mut config = ModelConfig::new(method);
    config.training.epochs = 5;
    config.training.batch_size = 16;
    config.training.optimizer = Optimizer::Sgd { momentum: 0.9 };
    config.training.learning_rate = 0.05;
    config.gaussian_process.features.count = 64;
    // The hidden vectors have 64 entries of about one, and the features a norm of one.
    config.gaussian_process.features.length_scale = 64.0;
    config.gaussian_process.feature_gain = 32f64.sqrt();
    let backbone = WideResNetConfig { depth: 10, widen: 1, image: [3, 8, 8], ..Default::default() };
    let labels = (0..Shades::ROWS).map(Shades::label).collect();
    let data = Labelled::new(Shades, Targets::classes(labels, 2).unwrap()).unwrap();
    let options = FitOptions::new(&Device::flex());
    Estimator::<WideResNet>::new(config, backbone).fit(&data, options).unwrap()
}

#[test]
fn it_learns_and_survives_its_folder() {
    let methods: [Method; 4] =
        [Deterministic {}.into(), Sngp {}.into(), McDropout::default().into(), Duq {}.into()];
    for method in methods {
        let model = fit(method.clone());
        let prediction = model.predict(&Shades).unwrap();
        let labels = prediction.labels().unwrap();
        let right = (0..Shades::ROWS).filter(|&row| labels[row] == Shades::label(row)).count();
        assert!(right * 10 >= Shades::ROWS * 9, "{method}: {right} of {}", Shades::ROWS);
        // The running averages of batch normalization are part of the model.
        let folder = tempfile::tempdir().unwrap();
        model.save(folder.path().join("model")).unwrap();
        let loaded =
            Model::<WideResNet>::load(folder.path().join("model"), &Device::flex()).unwrap();
        assert_eq!(loaded.predict(&Shades).unwrap(), prediction, "{method}");
    }
}

/// A network of a saved model is read like one that somebody else published.
#[test]
fn a_saved_network_can_be_the_start_of_another() {
    let device = Device::flex();
    let folder = tempfile::tempdir().unwrap();
    for (method, dense) in [(Method::from(Deterministic {}), true), (Sngp {}.into(), false)] {
        let model = fit(method);
        let path = folder.path().join(format!("dense-{dense}"));
        model.save(&path).unwrap();
        let file = path.join("model.safetensors");
        let mut weights = PublishedWeights::read(&file, &KeyMap::own()).unwrap();
        let blank = WideResNet::build(model.backbone(), &device).unwrap();
        let backbone = weights.fill("backbone", blank).unwrap();
        let rows: Vec<usize> = (0..4).collect();
        let hidden = |network: &WideResNet| {
            let batch = Shades.batch(&rows, &device);
            network.forward(batch, &mut Pass::evaluate()).into_data()
        };
        let network = model.networks().next().unwrap();
        assert_eq!(hidden(&backbone), hidden(&network.backbone));
        if dense {
            weights.fill("head", LinearConfig::new(64, 2).init(&device)).unwrap();
            weights.finish().unwrap();
        }
    }
}

/// Evaluation normalizes by running averages: a row does not see its neighbours.
#[test]
fn a_row_does_not_depend_on_its_batch() {
    let model = fit(Sngp {});
    let whole = model.predict(&Shades).unwrap();
    let device = Device::flex();
    for row in [0, 5, 47] {
        let alone = model.predict_batch(Shades.batch(&[row], &device)).unwrap();
        for (alone, together) in alone.logits.iter().zip(whole.logits.row(row)) {
            assert!((alone - together).abs() < 1e-4, "row {row}: {alone} and {together}");
        }
    }
}

#[test]
fn images_of_another_size_are_refused() {
    let model = fit(Deterministic {});
    let error = model.predict_batch(Tensor::zeros([1, 3, 16, 8], &Device::flex())).unwrap_err();
    assert!(error.to_string().contains("3 x 16 x 8"), "{error}");
}
