//! The whitened residual network as a backbone of the library's methods.

use burn::tensor::{Device, Tensor, TensorData};
use sngp::Pass;
use sngp::backbone::{Backbone, Normalization, WhitenedResNet, WhitenedResNetConfig, Whitening};
use sngp::data::{Inputs, Labelled, Targets};
use sngp::method::{Deterministic, McDropout, Method, Sngp};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::spectral::{SpectralConfig, SpectralReport};
use sngp::train::Optimizer;

use crate::common::{Shades, device};

fn backbone() -> WhitenedResNetConfig {
    let rows: Vec<usize> = (0..Shades::ROWS).collect();
    let units = Normalization { mean: vec![0.1; 3], deviation: vec![0.9; 3] };
    let whitening = Whitening::learn(Shades.batch(&rows, &device()), Some(&units)).unwrap();
    WhitenedResNetConfig {
        widths: [8, 16, 16],
        dropout: 0.1,
        image: [3, 8, 8],
        normalization: Some(units),
        whitening: Some(whitening),
    }
}

fn fit(method: impl Into<Method>, spectral: SpectralConfig) -> Model<WhitenedResNet> {
    let mut config = ModelConfig::new(method);
    config.training.epochs = 15;
    config.training.batch_size = 16;
    config.training.optimizer = Optimizer::Muon { momentum: 0.6 };
    config.training.learning_rate = 0.1;
    config.gaussian_process.features.count = 64;
    config.gaussian_process.features.length_scale = 20.0;
    config.gaussian_process.feature_gain = 4.0;
    config.spectral = spectral;
    let labels = (0..Shades::ROWS).map(Shades::label).collect();
    let data = Labelled::new(Shades, Targets::classes(labels, 2).unwrap()).unwrap();
    let options = FitOptions::new(&device());
    Estimator::<WhitenedResNet>::new(config, backbone()).fit(&data, options).unwrap()
}

#[test]
fn it_learns_and_survives_its_folder() {
    let methods: [Method; 3] =
        [Deterministic {}.into(), Sngp {}.into(), McDropout::default().into()];
    for method in methods {
        let model = fit(method.clone(), SpectralConfig::default());
        let prediction = model.predict(&Shades).unwrap();
        let labels = prediction.labels().unwrap();
        let right = (0..Shades::ROWS).filter(|&row| labels[row] == Shades::label(row)).count();
        assert!(right * 10 >= Shades::ROWS * 9, "{method}: {right} of {}", Shades::ROWS);
        let folder = tempfile::tempdir().unwrap();
        model.save(folder.path().join("model")).unwrap();
        let loaded = Model::<WhitenedResNet>::load(folder.path().join("model"), &device()).unwrap();
        assert_eq!(loaded.backbone(), model.backbone());
        assert_eq!(loaded.predict(&Shades).unwrap(), prediction, "{method}");
    }
}

/// A bound on the weights alone bounds nothing where batch normalization follows: it undoes it.
#[test]
fn the_bound_can_count_the_scale_of_batch_normalization() {
    let counted = SpectralConfig {
        convolution_bound: 0.7,
        iterations: 3,
        count_batch_norm: true,
        ..Default::default()
    };
    let alone = SpectralConfig { count_batch_norm: false, ..counted.clone() };
    for bounds in [alone, counted.clone()] {
        let model = fit(Sngp {}, bounds.clone());
        let network = &model.networks().next().unwrap().backbone;
        let report = SpectralReport::measure(network, &bounds);
        assert!(report.layers.iter().all(|layer| layer.holds(1.05)), "{report:?}");
        assert!(report.layers.iter().any(|layer| layer.is_bounded(1.05)), "{report:?}");
        let scale = "stages.0.norm.norm.gamma".to_string();
        assert_eq!(report.uncovered.contains(&scale), !bounds.count_batch_norm, "{report:?}");
        // What the two do together, whatever was bounded.
        let together = SpectralReport::measure(network, &counted);
        let all_hold = together.layers.iter().all(|layer| layer.holds(1.05));
        assert_eq!(all_hold, bounds.count_batch_norm, "{together:?}");
    }
}

#[test]
fn sizes_it_cannot_halve_three_times_are_refused() {
    let refused = |change: fn(&mut WhitenedResNetConfig)| {
        let mut config = backbone();
        change(&mut config);
        WhitenedResNet::build(&config, &device()).unwrap_err().to_string()
    };
    assert!(refused(|config| config.image = [3, 4, 8]).contains("at least eight"));
    assert!(refused(|config| config.image = [3, 10, 8]).contains("multiples of four"));
    assert!(refused(|config| config.widths[1] = 0).contains("widths"));
    assert!(refused(|config| config.dropout = 1.0).contains("dropout"));
    assert!(refused(|config| config.image = [1, 8, 8]).contains("channels"));
    for [height, width] in [[8, 16], [12, 28], [20, 8]] {
        let other = WhitenedResNetConfig { image: [3, height, width], ..backbone() };
        let network = WhitenedResNet::build(&other, &Device::flex()).unwrap();
        let data = TensorData::new(vec![0.5f32; 2 * 3 * height * width], [2, 3, height, width]);
        let hidden = network.forward(Tensor::from_data(data, &device()), &mut Pass::evaluate());
        assert_eq!(hidden.dims(), [2, 16]);
    }
}
