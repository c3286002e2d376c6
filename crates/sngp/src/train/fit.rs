//! Training one network from its plan to its finished weights.

use std::sync::{Arc, Mutex};

use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::module::{Module, ModuleMapper, Param, ParamGroup};
use burn::tensor::{Device, Tensor, TensorData};
use burn::train::logger::InMemoryMetricLogger;
use burn::train::metric::LossMetric;
use burn::train::{Interrupter, Learner, SupervisedTraining};

use super::checkpoint::{Checkpoints, EpochKeeper};
use super::config::TrainingConfig;
use super::early_stopping::Patience;
use super::loader::EpochLoader;
use super::objective::Objective;
use super::observer::Observer;
use super::precision_tap::PrecisionTap;
use super::renderer::ObservedRenderer;
use super::schedule::ScheduleState;
use super::trainee::{Rules, Trainee};
use crate::backbone::Backbone;
use crate::data::Labelled;
use crate::likelihood::Likelihood;
use crate::network::{Network, NetworkPlan};
use crate::nn::{RbfCentroidsConfig, frozen};
use crate::posterior::{Accumulation, Precision};
use crate::{Error, Result};

/// Why a training is stopped whose loss is no number any more.
pub(super) const DIVERGED: &str =
    "the loss is not finite any more; lower the learning rate or set clip_norm";

/// Everything one network's training needs.
pub(crate) struct FitNetwork<'a, B: Backbone> {
    pub plan: NetworkPlan<'a, B>,
    pub data: &'a Labelled<B::Batch>,
    pub validation: Option<&'a Labelled<B::Batch>>,
    pub config: &'a TrainingConfig,
    pub likelihood: &'a Likelihood,
    pub prior_weight: f64,
    pub centroids: &'a RbfCentroidsConfig,
    pub accumulation: Accumulation,
    /// An empty precision to fill while training, for the accumulations that do.
    pub precision: Option<Precision>,
    pub checkpoints: Option<Checkpoints>,
    pub fingerprint: &'a str,
    pub observer: Box<dyn Observer>,
    pub interrupter: Interrupter,
    pub device: &'a Device,
}

/// Trains; gives the network in evaluation state and what was accumulated on the way.
pub(crate) fn fit_network<B: Backbone>(
    fit: FitNetwork<'_, B>,
) -> Result<(Network<B>, Option<Precision>)> {
    let config = fit.config;
    // Early stopping goes back to an earlier epoch, so it needs checkpoints in any case.
    let scratch = match (&fit.checkpoints, config.early_stopping) {
        (None, Some(_)) => Some(tempfile::tempdir().map_err(Error::io("temporary folder"))?),
        _ => None,
    };
    let checkpoints = match &scratch {
        Some(folder) => Some(Checkpoints::new(folder.path().join("checkpoints"))),
        None => fit.checkpoints.clone(),
    };
    let tap = fit.precision.map(|precision| {
        PrecisionTap::new(precision, fit.accumulation, config.epochs, fit.data.rows())
    });
    let averaging = matches!(fit.accumulation, Accumulation::MovingAverage { .. });
    // What the last epoch accumulates is not in a checkpoint: go on from before it at most.
    let limit = match fit.accumulation {
        Accumulation::FinalEpoch if tap.is_some() => config.epochs - 1,
        _ => config.epochs,
    };
    let mut done = 0;
    if let Some(checkpoints) = &checkpoints {
        checkpoints.claim(fit.fingerprint)?;
        done = checkpoints.latest(limit, averaging && tap.is_some()).unwrap_or(0);
        if let (Some(tap), true, true) = (&tap, averaging, done > 0) {
            tap.restore(checkpoints.precision(done)?);
        }
    }
    let history = match &checkpoints {
        Some(checkpoints) => checkpoints.history(done)?,
        None => Default::default(),
    };
    let stopped_already = config.early_stopping.is_some_and(|stopping| {
        history.best().is_some_and(|best| done >= best + stopping.patience)
    });
    let history = Arc::new(Mutex::new(history));

    if fit.interrupter.should_stop() {
        return Err(Error::Interrupted {
            reason: fit.interrupter.get_message().unwrap_or_else(|| "on request".to_string()),
            checkpoint: Some(done).filter(|done| *done > 0),
        });
    }
    // A handle of its own: a training that diverges does not stop the caller's others.
    let interrupter = Interrupter::new();
    let seed = fit.plan.seed;
    let loader = |data: Option<&Labelled<B::Batch>>, shuffle| {
        Arc::new(EpochLoader::new(data.cloned(), config.batch_size, shuffle, done, fit.device))
    };
    let mut training = SupervisedTraining::new(
        checkpoints.as_ref().map_or(std::path::Path::new("."), |c| c.directory()),
        loader(Some(fit.data), Some(seed)),
        loader(fit.validation, None),
    )
    .metric_train_numeric(LossMetric::new())
    .metric_valid_numeric(LossMetric::new())
    .with_metric_logger(InMemoryMetricLogger::default())
    .with_application_logger(None)
    .with_interrupter(interrupter.clone())
    .renderer(Box::new(ObservedRenderer::new(fit.observer, fit.interrupter, interrupter.clone())))
    // A training that had stopped early has no epoch left to run.
    .num_epochs(if stopped_already { done } else { config.epochs });
    if config.accumulate > 1 {
        training = training.grads_accumulation(config.accumulate);
    }
    if let Some(checkpoints) = &checkpoints {
        training = training
            .with_custom_checkpointers(
                checkpoints.checkpointer("model"),
                checkpoints.checkpointer("optim"),
                checkpoints.checkpointer("scheduler"),
            )
            .with_checkpointing_strategy(EpochKeeper {
                checkpoints: checkpoints.clone(),
                history: history.clone(),
                tap: tap.clone().filter(|_| averaging),
                keep_best: config.early_stopping.is_some(),
                interrupter,
                saved: (1..=done).collect(),
                done,
            });
    }
    if let Some(stopping) = config.early_stopping {
        training = training
            .early_stopping(Patience { patience: stopping.patience, history: history.clone() });
    }
    if done > 0 {
        training = training.checkpoint(done);
    }

    let rules = Rules {
        objective: Objective {
            likelihood: fit.likelihood.clone(),
            prior_weight: fit.prior_weight,
            centroids: fit.centroids.clone(),
        },
        clip_norm: config.clip_norm,
        accumulate: config.accumulate,
        tap: tap.clone(),
    };
    let network = fit.plan.build(fit.device)?.train();
    let batches = frozen(Tensor::zeros([1], fit.device)).train();
    let trainee = Trainee { network, batches, rules: Arc::new(rules) };
    let scheduler = scheduler(config, fit.data.rows(), trainee.network.backbone.depths());
    let learner = Learner::new(trainee, config.optimizer.init(config.weight_decay), scheduler);
    let result = training.launch(learner);

    if let Some(error) = result.error {
        return Err(Error::Training(error.to_string()));
    }
    if let Some(interruption) = result.interrupted {
        let reason = interruption.reason.unwrap_or_else(|| "on request".to_string());
        if reason == DIVERGED {
            return Err(Error::Training(reason));
        }
        let checkpoint = fit.checkpoints.as_ref().and_then(|kept| kept.latest(limit, false));
        return Err(Error::Interrupted { reason, checkpoint });
    }
    let mut trainee = result.model;
    let best = history.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).best();
    if let (Some(_), Some(checkpoints), Some(best)) = (config.early_stopping, &checkpoints, best) {
        trainee = trainee
            .try_load_record(checkpoints.model(best)?)
            .map_err(|error| Error::corrupt(checkpoints.directory(), error.to_string()))?;
    }
    let mut settle = Settle { finite: true };
    let network = trainee.network.valid().map(&mut settle);
    if !settle.finite {
        return Err(Error::Training(DIVERGED.to_string()));
    }
    Ok((network, tap.map(|tap| tap.snapshot())))
}

/// Takes every weight into memory and sees whether it is a number. A restored record reads its
/// weights from the checkpoint's file when they are first used, and the file may be gone by then;
/// and the last step can make a network diverge without a loss that tells.
struct Settle {
    finite: bool,
}

impl ModuleMapper for Settle {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| {
            let (shape, device) = (tensor.dims(), tensor.device());
            let values: Vec<f32> = tensor.into_data().iter::<f32>().collect();
            self.finite &= values.iter().all(|value| value.is_finite());
            Tensor::from_data(TensorData::new(values, shape), &device)
        })
    }
}

/// The schedule for all parameters, and others for the parts with their own rate: the head, and
/// with `layer_decay` each of the backbone's depths.
fn scheduler(config: &TrainingConfig, rows: usize, depths: Vec<String>) -> ModuleLrScheduler {
    let batches = rows.div_ceil(config.batch_size);
    let total = batches.div_ceil(config.accumulate) * config.epochs;
    let state = |learning_rate| ScheduleState {
        schedule: config.schedule.clone(),
        learning_rate,
        total,
        step: 0,
    };
    let mut scheduler = ModuleLrScheduler::new(state(config.learning_rate));
    if let Some(rate) = config.head_learning_rate {
        scheduler = scheduler.with_group(ParamGroup::from_predicate("network.head"), state(rate));
    }
    if let Some(decay) = config.layer_decay {
        let below_the_top = (1..=depths.len() as i32).rev();
        for (depth, below) in depths.into_iter().zip(below_the_top) {
            let group = ParamGroup::from_predicate(format!("network.backbone.{depth}"));
            scheduler =
                scheduler.with_group(group, state(config.learning_rate * decay.powi(below)));
        }
    }
    scheduler
}
