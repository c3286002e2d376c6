//! Wide residual networks on images of 32 x 32.

use anyhow::Result;
use burn::tensor::{Device, Int, Tensor};
use sngp::backbone::{WideResNet, WideResNetConfig};
use sngp::data::TargetBatch;
use sngp::likelihood::{LikelihoodFunction, Softmax};
use sngp::nn::HeadConfig;
use sngp::train::Optimizer;
use sngp::{NetworkPlan, Pass};

use super::{Work, training};
use crate::data::{model, normal};

/// One prediction of WRN-28-10, with SNGP's output or a dense one.
pub fn predict(images: usize, sngp: bool) -> Result<Work> {
    let device = Device::flex();
    let seen = normal([16, 3, 32, 32], &device);
    let model = model::<WideResNet>(WideResNetConfig::default(), sngp, 10, seen)?;
    let batch = normal([images, 3, 32, 32], &device);
    Ok(Box::new(move || {
        model.predict_batch(batch.clone())?;
        Ok(())
    }))
}

/// One training step of WRN-16-4 on 32 images.
pub fn train() -> Result<Work> {
    let device = Device::flex().autodiff();
    let backbone = WideResNetConfig { depth: 16, widen: 4, dropout: 0.0, ..Default::default() };
    let plan = NetworkPlan::<WideResNet> {
        backbone: &backbone,
        head: HeadConfig::Dense,
        spectral: None,
        outputs: 10,
        log_noise: None,
        pretrained: None,
        pretrained_head: None,
        seed: 1,
    };
    let inputs = normal([32, 3, 32, 32], &device);
    let labels = Tensor::<1, Int>::arange(0..32, &device).remainder_scalar(10);
    let targets = TargetBatch::Classes(labels);
    let optimizer = Optimizer::Sgd { momentum: 0.9 }.init(5e-4);
    Ok(training::steps(plan.build(&device)?, optimizer, move |network| {
        let output = network.forward(inputs.clone(), &mut Pass::train(1));
        Softmax {}.loss(output.logits, &targets, None)
    }))
}
