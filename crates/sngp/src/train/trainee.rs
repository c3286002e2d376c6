//! A network as burn-train sees it.

use std::sync::Arc;

use burn::backend::ExecutionError;
use burn::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::module::{Module, Param};
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::Tensor;
use burn::train::metric::{Adaptor, ItemLazy, LossInput};
use burn::train::{InferenceStep, TrainOutput, TrainStep};

use super::loader::Example;
use super::objective::Objective;
use super::optimizer;
use super::precision_tap::PrecisionTap;
use crate::Pass;
use crate::backbone::Backbone;
use crate::data::TargetBatch;
use crate::network::Network;
use crate::nn::{CentroidUpdate, Head};

/// What a step needs to know beside the network.
#[derive(Debug)]
pub(super) struct Rules {
    pub objective: Objective,
    pub clip_norm: Option<f64>,
    pub accumulate: usize,
    pub tap: Option<PrecisionTap>,
}

/// A network in training.
#[derive(Module, Debug)]
pub(super) struct Trainee<B: Backbone> {
    pub network: Network<B>,
    /// Carries the number of accumulated batches from `step` to `optimize`: the last group of an
    /// epoch may be smaller than the others. Never trained.
    pub batches: Param<Tensor<1>>,
    #[module(skip)]
    pub rules: Arc<Rules>,
}

/// The loss of a step, as many times as it had rows, so that averages weigh rows alike.
pub(super) struct StepOutput {
    loss: Tensor<1>,
}

impl ItemLazy for StepOutput {
    fn sync(self) -> Result<Self, ExecutionError> {
        Ok(self)
    }
}

impl Adaptor<LossInput> for StepOutput {
    fn adapt(&self) -> LossInput {
        LossInput::new(self.loss.clone())
    }
}

impl<B: Backbone> TrainStep for Trainee<B> {
    type Input = Example<B::Batch>;
    type Output = StepOutput;

    fn step(&self, example: Self::Input) -> TrainOutput<StepOutput> {
        let (loss, output) = self.rules.objective.training_loss(&self.network, &example);
        let gradients = loss.backward();
        let loss = loss.inner();
        let one_batch = Tensor::<1>::ones([1], &loss.device());
        let report = StepOutput { loss: loss.expand([example.rows]) };
        let mut step = TrainOutput::new(self, gradients, report);
        step.grads.register(self.batches.id, one_batch);
        if let (Some(tap), Some(features)) = (&self.rules.tap, output.features)
            && let Err(error) = tap.collect(example.epoch, features.inner(), output.logits.inner())
        {
            // Only non-finite features get here; the loss is then no number either, and the
            // training stops for that with its own message.
            log::warn!("precision not updated: {error}");
        }
        if let (Head::RbfCentroids(head), TargetBatch::Classes(labels)) =
            (&self.network.head, &example.targets)
        {
            // Centroids follow what the network does, not what its dropout did this time.
            let hidden =
                self.network.backbone.forward(example.inputs.clone(), &mut Pass::evaluate());
            head.summarize(hidden.detach(), labels.clone()).attach(head, &mut step.grads);
        }
        step
    }

    /// The optimiser's step, and then what is due after it.
    fn optimize(
        mut self,
        optim: &mut ModuleOptimizer,
        rate: ModuleLearningRate,
        mut grads: GradientsParams,
    ) -> Self {
        let update = match &self.network.head {
            Head::RbfCentroids(head) => CentroidUpdate::detach(head, &mut grads),
            _ => None,
        };
        // Burn adds up accumulated gradients; the mean keeps the learning rate's meaning.
        if let Some(batches) = grads.remove::<1>(self.batches.id)
            && self.rules.accumulate > 1
        {
            optimizer::scale(&self, &mut grads, 1.0 / f64::from(batches.into_scalar::<f32>()));
        }
        if let Some(limit) = self.rules.clip_norm {
            optimizer::clip(&self, &mut grads, limit);
        }
        self = optim.step(rate, self, grads);
        let mut network = self.network;
        if let Some(spectral) = &mut network.spectral {
            spectral.project(&mut network.backbone);
        }
        if let (Head::RbfCentroids(head), Some(update)) = (&network.head, update) {
            network.head = Head::RbfCentroids(head.clone().apply(update));
        }
        Self { network, batches: self.batches, rules: self.rules }
    }
}

impl<B: Backbone> InferenceStep for Trainee<B> {
    type Input = Example<B::Batch>;
    type Output = StepOutput;

    fn step(&self, example: Self::Input) -> StepOutput {
        let output = self.network.forward(example.inputs, &mut Pass::evaluate());
        let loss = self.rules.objective.loss(&self.network, &output, &example.targets);
        StepOutput { loss: loss.expand([example.rows]) }
    }
}
