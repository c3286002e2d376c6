//! The unfitted model.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::tensor::Device;
use sha2::{Digest, Sha256};

use super::compose::Attachments;
use super::config::ModelConfig;
use super::fitted::{Fitted, Member, Model};
use crate::backbone::{Backbone, Batch};
use crate::data::{Inputs, Labelled, Targets};
use crate::exact_gp::ExactGpClassifier;
use crate::hash::hex;
use crate::host;
use crate::network::{Network, NetworkPlan, weights_digest};
use crate::nn::{Head, HeadConfig};
use crate::posterior::{Accumulation, FeatureMapHash, Posterior, Precision};
use crate::seed::{Purpose, derive};
use crate::train::{Checkpoints, FitNetwork, Interrupter, Observer, Silent, batches, fit_network};
use crate::{Error, Pass, Result};

/// Rows a forward pass takes outside of training.
pub(super) const EVALUATION_BATCH: usize = 512;

/// A model that has not seen data yet.
///
/// ```
/// use burn::tensor::Device;
/// use ndarray::array;
/// use sngp::backbone::{ResFfn, ResFfnConfig};
/// use sngp::data::{Labelled, Table, Targets};
/// use sngp::model::{Estimator, FitOptions, ModelConfig};
///
/// let mut config = ModelConfig::default();
/// config.training.epochs = 2;
/// let backbone = ResFfnConfig { depth: 2, width: 8, ..Default::default() };
/// let data = Labelled::new(
///     Table::new(array![[0.0, 0.0], [1.0, 1.0]].view())?,
///     Targets::classes(vec![0, 1], 2)?,
/// )?;
/// let model = Estimator::<ResFfn>::new(config, backbone).fit(&data, FitOptions::new(&Device::flex()))?;
/// let prediction = model.predict(&*data.inputs)?;
/// assert_eq!(prediction.probabilities()?.dim(), (2, 2));
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Estimator<B: Backbone> {
    /// Method and options.
    pub config: ModelConfig,
    /// The backbone's configuration.
    pub backbone: B::Config,
    /// The backbone to start from instead of a drawn one.
    pub pretrained: Option<B>,
    /// The output layer to start from instead of a drawn one.
    pub head: Option<Head>,
}

/// Where and how a model is fitted. Nothing here changes the result, but validation data where
/// early stopping watches it.
pub struct FitOptions<'a, B: Backbone> {
    /// The device it is trained on and stays on.
    pub device: Device,
    /// Held-out data whose loss is reported and watched by early stopping.
    pub validation: Option<&'a Labelled<B::Batch>>,
    /// Names of the classes; their numbers when absent.
    pub labels: Option<Vec<String>>,
    /// Where to save checkpoints and go on from them.
    pub checkpoints: Option<Checkpoints>,
    /// Stops the training from outside.
    pub interrupter: Interrupter,
    /// Makes the observer of each member.
    pub observe: &'a (dyn Fn(usize) -> Box<dyn Observer> + Sync),
    /// How many members of an ensemble train at the same time, each on its share of the threads.
    pub side_by_side: usize,
}

impl<B: Backbone> FitOptions<'_, B> {
    /// Silent, without checkpoints, as many members side by side as there are threads.
    pub fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            validation: None,
            labels: None,
            checkpoints: None,
            interrupter: Interrupter::new(),
            observe: &|_| Box::new(Silent),
            side_by_side: rayon::current_num_threads(),
        }
    }
}

impl<B: Backbone> Estimator<B> {
    /// An estimator.
    pub fn new(config: ModelConfig, backbone: B::Config) -> Self {
        Self { config, backbone, pretrained: None, head: None }
    }

    /// The same estimator with networks that start from a pretrained backbone. Parameters that
    /// require no gradient there are not trained here either.
    pub fn with_pretrained(mut self, backbone: B) -> Self {
        self.pretrained = Some(backbone);
        self
    }

    /// The same estimator with networks that start from a trained output layer, e.g. one that was
    /// fitted to the vectors of the pretrained backbone: a random one would first spoil them.
    pub fn with_head(mut self, head: Head) -> Self {
        self.head = Some(head);
        self
    }

    /// Trains, accumulates the posterior and finishes it.
    pub fn fit(&self, data: &Labelled<B::Batch>, options: FitOptions<'_, B>) -> Result<Model<B>> {
        let (labels, outputs) = self.prepare(data, &options)?;
        let fitted = match self.config.head() {
            None => Fitted::Exact(Box::new(self.fit_exact(data, &options.device)?)),
            Some(head) => Fitted::Networks(self.fit_members(&head, outputs, data, &options)?),
        };
        Ok(Model {
            config: self.config.clone(),
            backbone: self.backbone.clone(),
            labels,
            outputs,
            device: options.device,
            fitted,
            decision: None,
            attachments: Attachments::new(),
        })
    }

    /// Checks everything that can be wrong before anything is computed; the names of the classes
    /// and the number of logits.
    pub(super) fn prepare(
        &self,
        data: &Labelled<B::Batch>,
        options: &FitOptions<'_, B>,
    ) -> Result<(Vec<String>, usize)> {
        self.config.check(options.validation.is_some())?;
        self.config.likelihood.check(&data.targets)?;
        B::check(&self.backbone, &data.inputs.batch(&[0], &options.device))?;
        if let Some(validation) = options.validation {
            self.check_validation(data, validation, &options.device)?;
        }
        let labels = self.labels(data, options.labels.clone())?;
        let outputs = self.config.likelihood.outputs(&data.targets);
        if let (Some(given), Some(wanted)) = (&self.head, self.config.head()) {
            given.check(&wanted, B::width(&self.backbone), outputs)?;
        }
        Ok((labels, outputs))
    }

    /// Validation data has to be of the same kind as the training data.
    fn check_validation(
        &self,
        data: &Labelled<B::Batch>,
        validation: &Labelled<B::Batch>,
        device: &Device,
    ) -> Result<()> {
        self.config.likelihood.check(&validation.targets)?;
        B::check(&self.backbone, &validation.inputs.batch(&[0], device))?;
        let outputs = |targets: &Targets| self.config.likelihood.outputs(targets);
        let (expected, found) = (outputs(&data.targets), outputs(&validation.targets));
        if expected == found {
            return Ok(());
        }
        Err(Error::shape("classes of the validation data", expected, found))
    }

    fn labels(&self, data: &Labelled<B::Batch>, given: Option<Vec<String>>) -> Result<Vec<String>> {
        let classes = match &*data.targets {
            Targets::Classes { classes, .. } => *classes,
            Targets::Values(_) => 0,
        };
        let labels = given.unwrap_or_else(|| (0..classes).map(|k| k.to_string()).collect());
        if labels.len() != classes {
            return Err(Error::shape("names of the classes", classes, labels.len()));
        }
        Ok(labels)
    }

    fn fit_exact(&self, data: &Labelled<B::Batch>, device: &Device) -> Result<ExactGpClassifier> {
        let Targets::Classes { labels, classes } = &*data.targets else {
            return Err(Error::Unsupported("the exact GP here classifies".to_string()));
        };
        let rows: Vec<usize> = (0..data.rows()).collect();
        let inputs = data.inputs.batch(&rows, device).flatten().ok_or_else(no_vectors)?;
        ExactGpClassifier::fit(host::matrix(inputs).view(), labels, *classes, &self.config.exact_gp)
    }

    /// Trains the members, several at a time; each is a function of its own seed alone.
    fn fit_members(
        &self,
        head: &HeadConfig,
        outputs: usize,
        data: &Labelled<B::Batch>,
        options: &FitOptions<'_, B>,
    ) -> Result<Vec<Member<B>>> {
        let members = self.config.method.recipe().members;
        if let (Some(checkpoints), 2..) = (&options.checkpoints, members) {
            checkpoints.claim(&self.fingerprint(data, options.validation, self.config.seed))?;
        }
        let workers = options.side_by_side.clamp(1, members);
        if workers == 1 {
            let fit = |index| self.fit_member(index, head, outputs, data, options);
            return (0..members).map(fit).collect();
        }
        let threads = (rayon::current_num_threads() / workers).max(1);
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<Option<Result<Member<B>>>>> =
            Mutex::new((0..members).map(|_| None).collect());
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::SeqCst);
                        if index >= members {
                            return;
                        }
                        let member = on_threads(threads, || {
                            self.fit_member(index, head, outputs, data, options)
                        });
                        done.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[index] =
                            Some(member);
                    }
                });
            }
        });
        let done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let lost = || Err(Error::Training("a member's training was lost".to_string()));
        done.into_iter().map(|member| member.unwrap_or_else(lost)).collect()
    }

    /// What a network of a seed is built from.
    pub(super) fn plan(&self, head: &HeadConfig, outputs: usize, seed: u64) -> NetworkPlan<'_, B> {
        let config = &self.config;
        NetworkPlan {
            backbone: &self.backbone,
            head: head.clone(),
            spectral: config.method.recipe().spectral.then(|| config.spectral.clone()),
            outputs,
            log_noise: config.likelihood.initial_log_noise(),
            pretrained: self.pretrained.as_ref(),
            pretrained_head: self.head.as_ref(),
            seed,
        }
    }

    fn fit_member(
        &self,
        index: usize,
        head: &HeadConfig,
        outputs: usize,
        data: &Labelled<B::Batch>,
        options: &FitOptions<'_, B>,
    ) -> Result<Member<B>> {
        let config = &self.config;
        let recipe = config.method.recipe();
        let seed = match recipe.members {
            1 => config.seed,
            _ => derive(config.seed, Purpose::Member, index as u64),
        };
        let plan = self.plan(head, outputs, seed);
        let accumulation = config.posterior.accumulation;
        let empty = match head {
            HeadConfig::GaussianProcess(gp) => Some(Precision::new(
                gp.features.dimension(B::width(&self.backbone)),
                outputs,
                config.likelihood.curvature(config.posterior.curvature)?,
                FeatureMapHash([0; 32]),
            )),
            _ => None,
        };
        let (network, collected) = fit_network(FitNetwork {
            plan,
            data,
            validation: options.validation,
            config: &config.training,
            likelihood: &config.likelihood,
            prior_weight: config.gaussian_process.l2 / data.rows() as f64,
            centroids: &config.rbf_centroids,
            accumulation,
            precision: empty.clone().filter(|_| accumulation != Accumulation::FinalPass),
            checkpoints: match (&options.checkpoints, recipe.members) {
                (Some(checkpoints), 2..) => Some(checkpoints.member(index)),
                (checkpoints, _) => checkpoints.clone(),
            },
            fingerprint: &self.fingerprint(data, options.validation, seed),
            observer: (options.observe)(index),
            interrupter: options.interrupter.clone(),
            device: &options.device,
        })?;
        let precision = match (empty, accumulation) {
            (Some(empty), Accumulation::FinalPass) => {
                Some(accumulate(&network, empty, &*data.inputs, &options.device)?)
            }
            _ => collected,
        };
        let ridge =
            config.posterior.ridge * config.likelihood.ridge_factor(network.log_noise_value());
        let posterior = precision
            .map(|sum| sum.with_hash(network.feature_map_hash(&self.backbone)))
            .map(|sum| Posterior::finish(sum, ridge, &options.device))
            .transpose()?;
        Ok(Member { network, posterior })
    }

    /// A hash of everything a training depends on: the parts of the configuration that the method's
    /// training uses, backbone, seed, and all the data. What is kept of one training is not used for
    /// another.
    pub fn fingerprint(
        &self,
        data: &Labelled<B::Batch>,
        validation: Option<&Labelled<B::Batch>>,
        seed: u64,
    ) -> String {
        let mut hasher = Sha256::new();
        // As a folder writes it: options that are not used leave no trace, later ones included.
        let config = serde_json::to_string(&self.config.used()).expect("plain data");
        hasher.update(format!("{config} {:?} {seed}", self.backbone));
        if let Some(pretrained) = &self.pretrained {
            hasher.update(weights_digest(pretrained));
        }
        if let Some(head) = &self.head {
            hasher.update(weights_digest(head));
        }
        for part in std::iter::once(data).chain(validation) {
            hasher.update(format!("{:?} {:?}", part.inputs.digest(), part.targets));
        }
        hex(&hasher.finalize())
    }
}

/// One pass over inputs with the network frozen.
pub(super) fn accumulate<B: Backbone>(
    network: &Network<B>,
    mut precision: Precision,
    inputs: &dyn Inputs<B::Batch>,
    device: &Device,
) -> Result<Precision> {
    for rows in batches(inputs, EVALUATION_BATCH) {
        add_batch(network, &mut precision, inputs.batch(&rows, device))?;
    }
    Ok(precision)
}

/// Adds the features of one batch.
pub(super) fn add_batch<B: Backbone>(
    network: &Network<B>,
    precision: &mut Precision,
    batch: B::Batch,
) -> Result<()> {
    let output = network.forward(batch, &mut Pass::evaluate());
    match output.features {
        Some(features) => {
            let (features, logits) = (host::matrix_f32(features), host::matrix(output.logits));
            precision.add(features.view(), logits.view())
        }
        None => Ok(()),
    }
}

/// Runs on a pool of so many threads.
fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Error::Training(format!("no thread pool: {error}")))?;
    pool.install(work)
}

pub(super) fn no_vectors() -> Error {
    Error::Unsupported("the exact GP needs inputs that are plain vectors".to_string())
}
