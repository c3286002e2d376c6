//! Spectral normalization keeps its bounds while training, and does nothing it should not.

use crate::common::{
    device, host, host_matrix, normals, parameters, tensor, tiny_config, true_norm,
};
use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig, PaddingConfig2d};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use sngp::backbone::{Backbone, ResFfn, ResFfnConfig};
use sngp::data::{Inputs, Labelled, Targets};
use sngp::method::{Deterministic, DnnSn, Duq, Method, Sngp};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::spectral::{
    Operator, SpectralConfig, SpectralLayer, SpectralLayers, SpectralNormalization, SpectralReport,
};
use sngp::{Pass, Result};

const BOUND: f64 = 0.95;

/// The norms of a network's residual blocks by SVD.
fn block_norms(backbone: &ResFfn) -> Vec<f64> {
    let weights = parameters(backbone);
    let blocks =
        weights.iter().filter(|(name, _)| name.starts_with("blocks") && name.ends_with("weight"));
    let norm = |(shape, values): &(Vec<usize>, Vec<f32>)| {
        let values: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
        true_norm(shape[0], shape[1], &values)
    };
    blocks.map(|(_, parameter)| norm(parameter)).collect()
}

fn trained(method: impl Into<Method>, epochs: usize, iterations: usize) -> Model<ResFfn> {
    let mut config = tiny_config(method);
    config.training.epochs = epochs;
    config.training.learning_rate = 1e-2;
    config.spectral.iterations = iterations;
    crate::common::fit(&config, &crate::common::two_classes())
}

/// Under a constant learning rate a training of `k` epochs is the beginning of a longer one, so
/// these are the norms after every epoch of one training.
#[test]
fn dense_bounds_hold_after_every_epoch() {
    for (iterations, slack) in [(1, 1.05), (5, 1.01)] {
        let mut reached = 0.0f64;
        for epochs in 1..=8 {
            let model = trained(Sngp {}, epochs, iterations);
            let norms = block_norms(&model.networks().next().unwrap().backbone);
            assert_eq!(norms.len(), 3);
            for norm in norms {
                assert!(
                    norm <= slack * BOUND,
                    "{iterations} iterations, epoch {epochs}: {norm} is more than {slack} x {BOUND}"
                );
                reached = reached.max(norm);
            }
        }
        assert!(reached > 0.9 * BOUND, "the bound was never tested: {reached}");
    }
}

#[test]
fn without_normalization_the_same_training_leaves_the_bound() {
    let model = trained(Deterministic {}, 8, 1);
    let norms = block_norms(&model.networks().next().unwrap().backbone);
    assert!(norms.iter().any(|&norm| norm > 1.05 * BOUND), "{norms:?}");
}

#[test]
fn the_first_estimate_is_right_to_one_percent() {
    for width in [16, 64, 128] {
        for seed in 0..5 {
            let config = ResFfnConfig { width, depth: 4, ..crate::common::tiny_backbone() };
            let mut network = crate::common::untrained(&config, seed);
            let bounds = SpectralConfig { dense_bound: 0.2, ..Default::default() };
            SpectralNormalization::start(&bounds, &mut network, seed).unwrap();
            for norm in block_norms(&network) {
                let error = (norm / 0.2 - 1.0).abs();
                assert!(error <= 0.01, "width {width}, seed {seed}: off by {error}");
            }
        }
    }
}

#[test]
fn a_weight_under_its_bound_is_left_alone() {
    let mut network = crate::common::untrained(&crate::common::tiny_backbone(), 3);
    let before = parameters(&network);
    let bounds = SpectralConfig { dense_bound: 50.0, ..Default::default() };
    let mut state = SpectralNormalization::start(&bounds, &mut network, 1).unwrap();
    for _ in 0..5 {
        state.project(&mut network);
    }
    assert_eq!(parameters(&network), before);
    assert_eq!(state.config(), &bounds);
}

#[test]
fn a_zero_weight_stays_zero() {
    let zero = sngp::nn::linear(ndarray::Array2::zeros((4, 4)).view(), None, &device());
    let lift = sngp::nn::linear(ndarray::Array2::ones((2, 4)).view(), None, &device());
    let mut network = ResFfn::from_layers(lift, vec![zero], 0.0);
    let mut state =
        SpectralNormalization::start(&SpectralConfig::default(), &mut network, 1).unwrap();
    state.project(&mut network);
    assert!(parameters(&network)["blocks.0.weight"].1.iter().all(|&w| w == 0.0));
}

#[test]
fn prediction_changes_nothing() {
    for method in [Method::from(Sngp {}), DnnSn {}.into(), Duq {}.into()] {
        let model = trained(method, 2, 1);
        let before = crate::common::saved(&model);
        model.predict(&crate::common::test_points()).unwrap();
        model.inspect().unwrap();
        assert_eq!(crate::common::saved(&model), before);
    }
}

/// Two convolutions, one of them residual, and a dense layer that no bound covers.
#[derive(Module, Debug)]
struct ConvNet {
    stem: Conv2d,
    block: Conv2d,
    out: Linear,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ConvNetConfig {
    channels: usize,
    size: usize,
}

impl SpectralLayers for ConvNet {
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        vec![
            SpectralLayer::convolution("stem", &mut self.stem, [7, 7]),
            SpectralLayer::convolution("block", &mut self.block, [4, 4]),
        ]
    }
}

impl Backbone for ConvNet {
    const NAME: &'static str = "test_conv_net";
    type Config = ConvNetConfig;
    type Batch = Tensor<4>;

    fn build(config: &ConvNetConfig, device: &Device) -> Result<Self> {
        let half = config.size.div_ceil(2);
        let same = PaddingConfig2d::Explicit(1, 1, 1, 1);
        Ok(Self {
            stem: Conv2dConfig::new([1, config.channels], [3, 3])
                .with_stride([2, 2])
                .with_padding(same.clone())
                .init(device),
            block: Conv2dConfig::new([config.channels, config.channels], [3, 3])
                .with_padding(same)
                .init(device),
            out: LinearConfig::new(config.channels * half * half, Self::width(config)).init(device),
        })
    }

    fn forward(&self, batch: Tensor<4>, _: &mut Pass) -> Tensor<2> {
        let hidden = self.stem.forward(batch);
        let hidden = hidden.clone() + relu(self.block.forward(hidden));
        self.out.forward(hidden.flatten(1, 3))
    }

    fn width(_: &ConvNetConfig) -> usize {
        12
    }
}

/// 7 x 7 images, bright on the left or on the right.
struct Images {
    pixels: Vec<f32>,
}

impl Inputs<Tensor<4>> for Images {
    fn rows(&self) -> usize {
        self.pixels.len() / 49
    }

    fn batch(&self, rows: &[usize], device: &Device) -> Tensor<4> {
        let pixels = rows.iter().flat_map(|row| &self.pixels[row * 49..(row + 1) * 49]);
        let data = TensorData::new(pixels.copied().collect::<Vec<_>>(), [rows.len(), 1, 7, 7]);
        Tensor::from_data(data, device)
    }
}

fn images() -> Labelled<Tensor<4>> {
    let noise = normals(48, 49, 8);
    let bright = |row: usize, pixel: usize| (pixel % 7 < 3) == row.is_multiple_of(2);
    let pixels = noise.indexed_iter().map(|((row, pixel), noise)| {
        (if bright(row, pixel) { 1.0 } else { 0.0 }) + 0.2 * *noise as f32
    });
    let targets = Targets::classes((0..48).map(|row| row % 2).collect(), 2).unwrap();
    Labelled::new(Images { pixels: pixels.collect() }, targets).unwrap()
}

fn convolutional(method: impl Into<Method>) -> ModelConfig {
    let mut config = tiny_config(method);
    config.spectral.convolution_bound = 0.8;
    config
}

fn fit_images(config: ModelConfig) -> Model<ConvNet> {
    let backbone = ConvNetConfig { channels: 3, size: 7 };
    Estimator::new(config, backbone).fit(&images(), FitOptions::new(&device())).unwrap()
}

/// The norm of a convolution as the matrix it is: its images of all unit vectors.
fn convolution_norm(layer: &Conv2d, channels: usize, size: usize) -> f64 {
    let count = channels * size * size;
    let basis = Tensor::<2>::eye(count, &device()).reshape([count, channels, size, size]);
    let bare = Conv2d { bias: None, ..layer.clone() };
    let images = bare.forward(basis);
    let outputs = images.dims()[1..].iter().product();
    true_norm(count, outputs, &host(images))
}

#[test]
fn a_convolution_and_the_normalization_after_it_are_one_map() {
    let padding = PaddingConfig2d::Explicit(1, 1, 1, 1);
    let conv = Conv2dConfig::new([3, 5], [3, 3]).with_padding(padding).with_bias(false);
    let conv = conv.init(&device());
    let mut norm: BatchNorm = BatchNormConfig::new(5).init(&device());
    norm.gamma =
        norm.gamma.map(|gamma| gamma * Tensor::from_floats([0.5, -2.0, 1.0, 3.0, 0.0], &device()));
    norm.running_var.update(Tensor::from_floats([0.1, 2.0, 0.3, 4.0, 1.0], &device()));
    norm.running_mean.update(Tensor::from_floats([7.0, -1.0, 0.0, 2.0, 1.0], &device()));
    let count = 3 * 4 * 6;
    let basis = Tensor::<2>::eye(count, &device()).reshape([count, 3, 4, 6]);
    let nothing = Tensor::zeros([1, 3, 4, 6], &device());
    let images = norm.forward(conv.forward(basis)) - norm.forward(conv.forward(nothing));
    let expected = true_norm(count, 5 * 4 * 6, &host(images));
    let found = Operator::convolution_with_norm(&conv, &norm, [4, 6]).norm(2000);
    assert!((found - expected).abs() < 1e-3 * expected, "{found} is not {expected}");
    // Projected, the two have the bound together, and the weight is as it was.
    let (mut conv, weight) = (conv.clone(), conv.weight.val().into_data());
    for _ in 0..3 {
        let layer = SpectralLayer::convolution_with_norm("layer", &mut conv, &mut norm, [4, 6]);
        let start = layer.operator().start(1, 0);
        layer.project(start, 0.5, 100);
    }
    let found = Operator::convolution_with_norm(&conv, &norm, [4, 6]).norm(2000);
    assert!((found - 0.5).abs() < 1e-3, "{found}");
    assert_eq!(conv.weight.val().into_data(), weight);
}

#[test]
fn convolution_bounds_hold_after_every_epoch() {
    for (iterations, slack) in [(1, 1.05), (5, 1.01)] {
        for epochs in 1..=6 {
            let mut config = convolutional(Sngp {});
            config.spectral.iterations = iterations;
            config.training.epochs = epochs;
            let model = fit_images(config);
            let network = &model.networks().next().unwrap().backbone;
            let norms =
                [convolution_norm(&network.stem, 1, 7), convolution_norm(&network.block, 3, 4)];
            for norm in norms {
                assert!(norm <= slack * 0.8, "{iterations} iterations, epoch {epochs}: {norm}");
            }
            assert!(norms[1] > 0.7, "the bound was never tested: {norms:?}");
        }
    }
}

#[test]
fn every_network_method_fits_convolutions() {
    for method in crate::common::small_methods() {
        let mut config = convolutional(method.clone());
        config.training.epochs = 15;
        let model = fit_images(config);
        let prediction = model.predict(&*images().inputs).unwrap();
        crate::common::assert_distribution(method.name(), &prediction);
        let labels = prediction.labels().unwrap();
        let right = labels.iter().enumerate().filter(|(row, label)| **label == row % 2).count();
        assert!(right >= 44, "{method}: {right} of 48");

        let folder = tempfile::tempdir().unwrap();
        model.save(folder.path().join("model")).unwrap();
        let loaded = Model::<ConvNet>::load(folder.path().join("model"), &device()).unwrap();
        assert_eq!(loaded.predict(&*images().inputs).unwrap(), prediction, "{method}");
    }
}

#[test]
fn the_report_tells_norms_bounds_and_gaps() {
    let config = convolutional(Sngp {});
    let model = fit_images(config.clone());
    let network = &model.networks().next().unwrap().backbone;
    let report = SpectralReport::measure(network, &config.spectral);
    assert_eq!(report.uncovered, ["out.weight"]);
    assert!(report.lipschitz.is_none(), "nothing was said about this network's stages");
    let names: Vec<&str> = report.layers.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names, ["stem", "block"]);
    for (layer, norm) in report
        .layers
        .iter()
        .zip([convolution_norm(&network.stem, 1, 7), convolution_norm(&network.block, 3, 4)])
    {
        assert!((layer.norm - norm).abs() <= 1e-3 * norm, "{} is not {norm}", layer.norm);
        assert_eq!(layer.bound, 0.8);
        assert!(layer.holds(1.05));
    }
    // Without normalization the report says so instead of claiming a bound.
    let inspection = fit_images(convolutional(Deterministic {})).inspect().unwrap();
    assert!(!inspection.members[0].normalized);
}

#[test]
fn a_backbone_without_layers_to_normalize_is_refused() {
    let empty = ResFfnConfig { depth: 0, ..crate::common::tiny_backbone() };
    let estimator = Estimator::<ResFfn>::new(tiny_config(Sngp {}), empty);
    let data = crate::common::two_classes();
    let error =
        crate::common::refused("no layers", estimator.fit(&data, FitOptions::new(&device())));
    crate::common::assert_sentence(&error, "no layer for spectral normalization");
}

#[test]
fn distances_stay_within_the_certified_constants() {
    for method in [Method::from(Sngp {}), DnnSn {}.into()] {
        let model = trained(method, 8, 1);
        let network = &model.networks().next().unwrap().backbone;
        let report = SpectralReport::measure(network, &model.config().spectral);
        assert_eq!(report.uncovered, ["lift.weight"]);
        let constants = report.lipschitz.unwrap();
        assert!(constants.lower > 0.0 && constants.lower < constants.upper);
        let (left, right) = (normals(500, 2, 21) * 2.0, normals(500, 2, 22) * 2.0);
        let map = |x: &ndarray::Array2<f64>| {
            host_matrix(network.forward(tensor(x), &mut Pass::evaluate()))
        };
        let (h, g) = (map(&left), map(&right));
        let lengths = |difference: ndarray::Array2<f64>| {
            difference.mapv(|v| v * v).sum_axis(ndarray::Axis(1)).mapv(f64::sqrt)
        };
        let ratios = lengths(h - g) / lengths(left - right);
        for ratio in ratios {
            assert!(ratio >= constants.lower * (1.0 - 1e-4), "{ratio} below {constants:?}");
            assert!(ratio <= constants.upper * (1.0 + 1e-4), "{ratio} above {constants:?}");
        }
    }
}
