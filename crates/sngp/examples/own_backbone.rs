//! A Burn module of your own becomes a backbone, and has every method of the library.
//!
//! Run it with `cargo run --release -p sngp --example own_backbone`.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::tanh;
use burn::tensor::{Device, Tensor};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use sngp::Pass;
use sngp::prelude::*;
use sngp::score::MaxProbability;
use sngp::spectral::{SpectralLayer, SpectralLayers};

/// The module, as you would write it for Burn alone.
#[derive(Module, Debug)]
struct TwoLayers {
    first: Linear,
    second: Linear,
}

/// What it is built from; saved with the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TwoLayersConfig {
    inputs: usize,
    width: usize,
}

/// The residual layer is the one to bound.
impl SpectralLayers for TwoLayers {
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        vec![SpectralLayer::dense("second", &mut self.second)]
    }
}

impl Backbone for TwoLayers {
    const NAME: &'static str = "two_layers";
    type Config = TwoLayersConfig;
    type Batch = Tensor<2>;

    fn build(config: &TwoLayersConfig, device: &Device) -> sngp::Result<Self> {
        let first = LinearConfig::new(config.inputs, config.width).init(device);
        Ok(Self { first, second: LinearConfig::new(config.width, config.width).init(device) })
    }

    fn forward(&self, batch: Tensor<2>, _pass: &mut Pass) -> Tensor<2> {
        let hidden = self.first.forward(batch);
        hidden.clone() + tanh(self.second.forward(hidden))
    }

    fn width(config: &TwoLayersConfig) -> usize {
        config.width
    }
}

fn main() -> sngp::Result<()> {
    let inputs = Array2::from_shape_fn((200, 2), |(i, j)| {
        let side = if i % 2 == 0 { -1.0 } else { 1.0 };
        side + 0.3 * ((i * 7 + j * 13) as f32).sin()
    });
    let labels = (0..200).map(|i| i % 2).collect();
    let data = Labelled::new(Table::new(inputs.view())?, Targets::classes(labels, 2)?)?;
    let far_away = Table::new(ndarray::array![[20.0, -20.0]].view())?;
    for method in Method::all() {
        let mut config = ModelConfig::new(method.clone());
        config.training.epochs = 20;
        let estimator =
            Estimator::<TwoLayers>::new(config, TwoLayersConfig { inputs: 2, width: 32 });
        let model = estimator.fit(&data, FitOptions::new(&Device::flex()))?;
        let prediction = model.predict(&far_away)?;
        let own = model.config().score();
        let (own_value, max) =
            (own.evaluate(&prediction)?, MaxProbability {}.evaluate(&prediction)?);
        println!("{method:15} far away: {own} {:.3}, 1 - max p {:.3}", own_value[0], max[0]);
    }
    Ok(())
}
