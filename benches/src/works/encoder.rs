//! Transformer encoders on sentences of embedded tokens.

use anyhow::Result;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor};
use sngp::Pass;
use sngp::backbone::Backbone;
use sngp::data::TargetBatch;
use sngp::likelihood::{LikelihoodFunction, Softmax};
use sngp::nn::{TransformerConfig, TransformerEncoder};
use sngp::train::Optimizer;

use super::{Work, training};
use crate::data::{model, normal};

const CLASSES: usize = 150;

/// The size of MiniLM.
pub fn minilm() -> TransformerConfig {
    TransformerConfig { dropout: 0.0, attention_dropout: 0.0, ..Default::default() }
}

/// The size of BERT-base.
pub fn bert_base() -> TransformerConfig {
    TransformerConfig { layers: 12, width: 768, inner: 3072, ..minilm() }
}

/// An encoder whose tokens' vectors are averaged.
#[derive(Module, Debug)]
struct Averaged {
    encoder: TransformerEncoder,
}

impl sngp::spectral::SpectralLayers for Averaged {}

impl Backbone for Averaged {
    const NAME: &'static str = "averaged_encoder";
    type Config = TransformerConfig;
    type Batch = Tensor<3>;

    fn build(config: &TransformerConfig, device: &Device) -> sngp::Result<Self> {
        Ok(Self { encoder: config.init(device)? })
    }

    fn forward(&self, batch: Tensor<3>, pass: &mut Pass) -> Tensor<2> {
        let tokens = self.encoder.forward(batch, &Default::default(), pass);
        tokens.mean_dim(1).squeeze_dim(1)
    }

    fn width(config: &TransformerConfig) -> usize {
        config.width
    }
}

/// An encoder with a dense output.
#[derive(Module, Debug)]
struct Classifier {
    backbone: Averaged,
    head: Linear,
}

impl Classifier {
    fn build(config: &TransformerConfig, device: &Device) -> Result<Self> {
        let backbone = Averaged::build(config, device)?;
        Ok(Self { backbone, head: LinearConfig::new(config.width, CLASSES).init(device) })
    }

    fn forward(&self, batch: Tensor<3>, pass: &mut Pass) -> Tensor<2> {
        self.head.forward(self.backbone.forward(batch, pass))
    }
}

/// One forward pass.
pub fn forward(config: TransformerConfig, sentences: usize, tokens: usize) -> Result<Work> {
    let device = Device::flex();
    let network = Classifier::build(&config, &device)?;
    let batch = normal([sentences, tokens, config.width], &device);
    Ok(Box::new(move || {
        network.forward(batch.clone(), &mut Pass::evaluate()).into_data();
        Ok(())
    }))
}

/// One training step on 32 sentences of 32 tokens.
pub fn train() -> Result<Work> {
    let device = Device::flex().autodiff();
    let network = Classifier::build(&minilm(), &device)?;
    let batch = normal([32, 32, minilm().width], &device);
    let labels = Tensor::<1, Int>::arange(0..32, &device);
    let targets = TargetBatch::Classes(labels);
    Ok(training::steps(network, Optimizer::AdamW.init(0.01), move |network| {
        let logits = network.forward(batch.clone(), &mut Pass::train(1));
        Softmax {}.loss(logits, &targets, None)
    }))
}

/// One prediction of a sentence of 12 tokens, with SNGP's output or a dense one.
pub fn predict(sngp: bool) -> Result<Work> {
    let device = Device::flex();
    let seen = normal([32, 12, minilm().width], &device);
    let model = model::<Averaged>(minilm(), sngp, CLASSES, seen)?;
    let batch = normal([1, 12, minilm().width], &device);
    Ok(Box::new(move || {
        model.predict_batch(batch.clone())?;
        Ok(())
    }))
}
