//! The residual feed-forward network.

use anyhow::Result;
use burn::tensor::{Device, Int, Tensor};
use sngp::NetworkPlan;
use sngp::Pass;
use sngp::backbone::{ResFfn, ResFfnConfig};
use sngp::data::TargetBatch;
use sngp::likelihood::{LikelihoodFunction, Softmax};
use sngp::nn::{GaussianProcessConfig, HeadConfig};
use sngp::train::Optimizer;

use super::{Work, training};
use crate::data::{model, normal};

fn config() -> ResFfnConfig {
    ResFfnConfig { dropout: 0.0, ..Default::default() }
}

/// One training step on 128 rows.
pub fn train() -> Result<Work> {
    let device = Device::flex().autodiff();
    let plan = NetworkPlan::<ResFfn> {
        backbone: &config(),
        head: HeadConfig::GaussianProcess(GaussianProcessConfig::default()),
        spectral: None,
        outputs: 2,
        log_noise: None,
        pretrained: None,
        pretrained_head: None,
        seed: 1,
    };
    let inputs = normal([128, 2], &device);
    let labels = Tensor::<1, Int>::arange(0..128, &device).remainder_scalar(2);
    let targets = TargetBatch::Classes(labels);
    Ok(training::steps(plan.build(&device)?, Optimizer::AdamW.init(0.01), move |network| {
        let output = network.forward(inputs.clone(), &mut Pass::train(1));
        Softmax {}.loss(output.logits, &targets, None)
    }))
}

/// One prediction with variance and probabilities.
pub fn predict(rows: usize) -> Result<Work> {
    let device = Device::flex();
    let model = model::<ResFfn>(config(), true, 2, normal([512, 2], &device))?;
    let batch = normal([rows, 2], &device);
    Ok(Box::new(move || {
        model.predict_batch(batch.clone())?;
        Ok(())
    }))
}
