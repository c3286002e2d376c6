//! Data and networks of an experiment.

use std::path::Path;

use burn::tensor::Device;
use sngp::Result;
use sngp::backbone::{Shipped, ShippedBatch, ShippedConfig};
use sngp::data::Labelled;
use sngp::hash::sha256;
use sngp::method::{Method, Output};
use sngp::model::{self, Estimator, FitOptions, ModelConfig, ShippedModel};
use sngp::nn::Head;

use super::experiment::{Trained, VisionExperiment};
use super::pretrained::Pretrained;
use super::task::VisionTask;
use crate::bench::{BoundOf, RunOptions, Study, TuningConfig};

/// What the networks of an experiment start from and learn.
pub struct Setup {
    /// The experiment.
    pub experiment: VisionExperiment,
    /// What they learn.
    pub task: VisionTask,
    /// The backbone's configuration.
    pub backbone: ShippedConfig,
    pretrained: Option<Pretrained>,
}

impl Setup {
    /// Reads data and weights of an experiment.
    pub fn read(experiment: VisionExperiment, folder: &Path, device: &Device) -> Result<Self> {
        let task = VisionTask::read(&experiment, folder)?;
        let backbone = experiment.network.complete(&task.images)?;
        let pretrained = match &experiment.pretrained {
            Some(config) => {
                Some(Pretrained::read(config, folder, &backbone, task.labels.len(), device)?)
            }
            None => None,
        };
        Ok(Self { experiment, task, backbone, pretrained })
    }
}

impl Study for Setup {
    fn bound(&self) -> BoundOf {
        BoundOf::Convolutions
    }

    fn model_for(&self, method: &Method) -> Result<ModelConfig> {
        self.experiment.model_for(method)
    }

    fn tuning(&self) -> &TuningConfig {
        &self.experiment.tuning
    }

    fn train(&self) -> &Labelled<ShippedBatch> {
        &self.task.train
    }

    fn validation(&self) -> &Labelled<ShippedBatch> {
        &self.task.validation
    }

    fn chosen_on(&self) -> &Labelled<ShippedBatch> {
        &self.task.chosen_on
    }

    fn labels(&self) -> &[String] {
        &self.task.labels
    }

    fn estimator(&self, config: ModelConfig) -> Estimator<Shipped> {
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
        estimator: Estimator<Shipped>,
        fit: FitOptions<'_, Shipped>,
        _: &RunOptions<'_>,
    ) -> Result<ShippedModel> {
        match &self.pretrained {
            Some(pretrained) if pretrained.trained == Trained::Output => {
                pretrained.fit(&estimator, &self.task.train, fit)
            }
            _ => model::fit(&estimator, &self.task.train, fit),
        }
    }
}
