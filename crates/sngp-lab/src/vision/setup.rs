//! Data and networks of an experiment.

use std::path::Path;

use burn::tensor::{Device, Tensor};
use sngp::Result;
use sngp::backbone::{Backbone, Normalization, ResNet, WideResNet};
use sngp::data::Labelled;
use sngp::hash::sha256;
use sngp::method::{Method, Output};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::nn::Head;

use super::experiment::{NetworkConfig, Trained, VisionExperiment};
use super::pretrained::Pretrained;
use super::task::VisionTask;
use crate::bench::{BoundOf, RunOptions, Study, TuningConfig};
use crate::dataset::image::channel_moments;

/// What the networks of an experiment start from and learn.
pub struct Setup<B: Backbone> {
    /// The experiment.
    pub experiment: VisionExperiment,
    /// What they learn.
    pub task: VisionTask,
    /// The backbone's configuration.
    pub backbone: B::Config,
    pretrained: Option<Pretrained<B>>,
}

/// A hidden mapping of images.
pub trait ImageBackbone: Backbone<Batch = Tensor<4>> {
    /// A configuration with what an experiment leaves to the data: the images' size, and how their
    /// channels are normalized where nothing else was given.
    fn complete(
        config: Self::Config,
        image: [usize; 3],
        moments: impl FnOnce() -> Normalization,
    ) -> Self::Config;
}

macro_rules! image_backbones {
    ($($backbone:ty),+) => {$(
        impl ImageBackbone for $backbone {
            fn complete(
                config: Self::Config,
                image: [usize; 3],
                moments: impl FnOnce() -> Normalization,
            ) -> Self::Config {
                let normalization = Some(config.normalization.unwrap_or_else(moments));
                Self::Config { image, normalization, ..config }
            }
        }
    )+};
}

image_backbones!(WideResNet, ResNet);

impl<B: ImageBackbone> Setup<B> {
    fn new(
        experiment: VisionExperiment,
        network: B::Config,
        folder: &Path,
        device: &Device,
    ) -> Result<Self> {
        let task = VisionTask::read(&experiment, folder)?;
        let images = task.images.images();
        let image = [images.channels, images.height, images.width];
        let backbone = B::complete(network, image, || channel_moments(images));
        let pretrained = match &experiment.pretrained {
            Some(config) => {
                Some(Pretrained::read(config, folder, &backbone, task.labels.len(), device)?)
            }
            None => None,
        };
        Ok(Self { experiment, task, backbone, pretrained })
    }
}

/// Something to do with the networks of an experiment, whatever they are.
pub trait WithSetup {
    /// What comes out of it.
    type Output;

    /// Does it.
    fn run<B: ImageBackbone>(self, setup: Setup<B>) -> Self::Output;
}

/// Reads data and weights of an experiment and does something with its networks.
pub fn with_setup<W: WithSetup>(
    experiment: VisionExperiment,
    folder: &Path,
    device: &Device,
    work: W,
) -> Result<W::Output> {
    Ok(match experiment.network.clone() {
        NetworkConfig::WideResnet(network) => {
            work.run(Setup::<WideResNet>::new(experiment, network, folder, device)?)
        }
        NetworkConfig::Resnet(network) => {
            work.run(Setup::<ResNet>::new(experiment, network, folder, device)?)
        }
    })
}

impl<B: ImageBackbone> Study for Setup<B> {
    type Backbone = B;
    const BOUND: BoundOf = BoundOf::Convolutions;

    fn model_for(&self, method: &Method) -> Result<ModelConfig> {
        self.experiment.model_for(method)
    }

    fn tuning(&self) -> &TuningConfig {
        &self.experiment.tuning
    }

    fn train(&self) -> &Labelled<Tensor<4>> {
        &self.task.train
    }

    fn validation(&self) -> &Labelled<Tensor<4>> {
        &self.task.validation
    }

    fn chosen_on(&self) -> &Labelled<Tensor<4>> {
        &self.task.chosen_on
    }

    fn labels(&self) -> &[String] {
        &self.task.labels
    }

    fn estimator(&self, config: ModelConfig) -> Estimator<B> {
        let estimator = Estimator::new(config, self.backbone.clone());
        let Some(Pretrained { backbone, head, .. }) = &self.pretrained else { return estimator };
        // The published output is where a dense one starts.
        let dense = estimator.config.method.recipe().output == Output::Dense;
        let estimator = estimator.with_pretrained(backbone.clone());
        if dense { estimator.with_head(Head::Dense(head.clone())) } else { estimator }
    }

    fn depends_on(&self) -> String {
        sha256(format!("{:?}", self.experiment.pretrained).as_bytes())
    }

    fn fit(
        &self,
        estimator: Estimator<B>,
        fit: FitOptions<'_, B>,
        _: &RunOptions<'_>,
    ) -> Result<Model<B>> {
        match &self.pretrained {
            Some(pretrained) if pretrained.trained == Trained::Output => {
                pretrained.fit(&estimator, &self.task.train, fit)
            }
            _ => estimator.fit(&self.task.train, fit),
        }
    }
}
