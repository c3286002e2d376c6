//! Inputs and models for the works: random, the same every time.

use burn::tensor::{Device, Distribution, Tensor};
use sngp::NetworkPlan;
use sngp::Result;
use sngp::backbone::{Backbone, Batch};
use sngp::data::Inputs;
use sngp::method::{Deterministic, Method, Sngp};
use sngp::model::{Model, ModelConfig};
use sngp::nn::{GaussianProcessConfig, HeadConfig};

/// Standard normal numbers.
pub fn normal<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

/// A batch standing for a data set.
struct Whole<T>(T);

impl<T: Batch + Sync> Inputs<T> for Whole<T> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn batch(&self, _rows: &[usize], _device: &Device) -> T {
        self.0.clone()
    }
}

/// A model with random weights that has seen `seen`: SNGP's head or a dense one.
pub fn model<B: Backbone>(
    backbone: B::Config,
    sngp: bool,
    classes: usize,
    seen: B::Batch,
) -> Result<Model<B>>
where
    B::Batch: Sync,
{
    let device = Device::flex();
    let (method, head): (Method, _) = match sngp {
        true => (Sngp {}.into(), HeadConfig::GaussianProcess(GaussianProcessConfig::default())),
        false => (Deterministic {}.into(), HeadConfig::Dense),
    };
    let plan = NetworkPlan::<B> {
        backbone: &backbone,
        head,
        spectral: None,
        outputs: classes,
        log_noise: None,
        pretrained: None,
        pretrained_head: None,
        seed: 1,
    };
    let network = plan.build(&device)?;
    let labels = (0..classes).map(|class| class.to_string()).collect();
    Model::from_network(ModelConfig::new(method), backbone, network, labels, &Whole(seen), &device)
}
