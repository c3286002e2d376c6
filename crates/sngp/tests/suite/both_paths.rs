//! Whole networks through the CPU kernels and through Burn's own ops.
//!
//! The kernels take f32 only: a network in f64 goes through Burn's ops, as on any other device.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{DType, Device, Tensor, TensorData};
use sngp::Pass;
use sngp::backbone::{
    Backbone, Normalization, ResFfn, ResFfnConfig, ResNet, ResNetConfig, WhitenedResNet,
    WhitenedResNetConfig, Whitening, WideResNet, WideResNetConfig,
};
use sngp::nn::{GaussianProcessConfig, TransformerConfig};

struct InDouble;

impl ModuleMapper for InDouble {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| tensor.cast(DType::F64))
    }
}

fn filled<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    let values: Vec<f32> =
        (0..shape.iter().product()).map(|i: usize| ((i * 37 + 11) as f32 * 0.7).sin()).collect();
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

/// Asserts that a module says the same in f32 and in f64.
fn compare<M: Module, const I: usize, const O: usize>(
    module: M,
    input: Tensor<I>,
    forward: impl Fn(&M, Tensor<I>) -> Tensor<O>,
) {
    let fused = forward(&module, input.clone());
    let plain = forward(&module.map(&mut InDouble), input.cast(DType::F64));
    assert_eq!((fused.dtype(), plain.dtype()), (DType::F32, DType::F64));
    let numbers = |tensor: Tensor<O>| tensor.into_data().iter::<f64>().collect::<Vec<_>>();
    let (fused, plain) = (numbers(fused), numbers(plain));
    let scale = plain.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    assert!(scale > 1e-3, "the output says something");
    for (fused, plain) in fused.iter().zip(&plain) {
        assert!((fused - plain).abs() < 1e-4 * scale, "{fused} and {plain}");
    }
}

#[test]
fn the_residual_network_agrees() {
    let network = ResFfn::build(&ResFfnConfig::default(), &Device::flex()).unwrap();
    compare(network, filled([9, 2]), |network, x| network.forward(x, &mut Pass::evaluate()));
}

#[test]
fn the_wide_network_agrees_in_evaluation_and_in_training() {
    let config = WideResNetConfig {
        depth: 10,
        widen: 2,
        dropout: 0.0,
        image: [3, 16, 16],
        ..Default::default()
    };
    // One for each comparison: clones share the running averages, and would share their type.
    let build = || WideResNet::build(&config, &Device::flex()).unwrap();
    compare(build(), filled([3, 3, 16, 16]), |network, x| {
        network.forward(x, &mut Pass::evaluate())
    });
    compare(build(), filled([3, 3, 16, 16]), |network, x| network.forward(x, &mut Pass::train(1)));
}

#[test]
fn the_published_network_agrees_in_evaluation_and_in_training() {
    let normalization = Normalization { mean: vec![0.5, 0.4, 0.3], deviation: vec![0.2, 0.3, 0.4] };
    let config = ResNetConfig { depth: 8, image: [3, 16, 16], normalization: Some(normalization) };
    let build = || ResNet::build(&config, &Device::flex()).unwrap();
    compare(build(), filled([3, 3, 16, 16]), |network, x| {
        network.forward(x, &mut Pass::evaluate())
    });
    compare(build(), filled([3, 3, 16, 16]), |network, x| network.forward(x, &mut Pass::train(1)));
}

#[test]
fn the_whitened_network_agrees_in_evaluation_and_in_training() {
    let config = WhitenedResNetConfig {
        widths: [8, 16, 24],
        image: [3, 16, 16],
        whitening: Some(Whitening::learn(filled([9, 3, 16, 16]), None).unwrap()),
        ..Default::default()
    };
    let build = || WhitenedResNet::build(&config, &Device::flex()).unwrap();
    compare(build(), filled([3, 3, 16, 16]), |network, x| {
        network.forward(x, &mut Pass::evaluate())
    });
    compare(build(), filled([3, 3, 16, 16]), |network, x| network.forward(x, &mut Pass::train(1)));
}

#[test]
fn the_encoder_agrees() {
    let config =
        TransformerConfig { layers: 2, width: 48, heads: 4, inner: 96, ..Default::default() };
    let encoder = config.init(&Device::flex()).unwrap();
    compare(encoder, filled([3, 11, 48]), |encoder, x| {
        encoder.forward(x, &Default::default(), &mut Pass::evaluate())
    });
}

#[test]
fn the_gaussian_process_agrees() {
    let layer = GaussianProcessConfig::default().init(20, 5, 1, &Device::flex()).unwrap();
    compare(layer, filled([9, 20]), |layer, x| layer.forward(x).logits);
}
