//! The fitted model.

use burn::tensor::Device;
use ndarray::s;

use super::compose::Attachments;
use super::config::ModelConfig;
use super::decision::Decision;
use super::estimator::{EVALUATION_BATCH, accumulate, add_batch, no_vectors};
use crate::backbone::{Backbone, Batch};
use crate::data::Inputs;
use crate::exact_gp::ExactGpClassifier;
use crate::likelihood::{Bernoulli, Likelihood, LikelihoodFunction};
use crate::network::Network;
use crate::nn::{GaussianProcess, Head};
use crate::posterior::{Posterior, Precision};
use crate::predict::Prediction;
use crate::train::batches;
use crate::{Error, Mode, Pass, Result, host};

/// A fitted model: predicts, explains itself, is saved and loaded.
#[derive(Clone, Debug)]
pub struct Model<B: Backbone> {
    pub(super) config: ModelConfig,
    pub(super) backbone: B::Config,
    pub(super) labels: Vec<String>,
    pub(super) outputs: usize,
    pub(super) device: Device,
    pub(super) fitted: Fitted<B>,
    pub(super) decision: Option<Decision>,
    pub(super) attachments: Attachments,
}

#[derive(Clone, Debug)]
pub(super) enum Fitted<B: Backbone> {
    Networks(Vec<Member<B>>),
    Exact(Box<ExactGpClassifier>),
}

#[derive(Clone, Debug)]
pub(super) struct Member<B: Backbone> {
    pub network: Network<B>,
    pub posterior: Option<Posterior>,
}

impl<B: Backbone> Model<B> {
    /// A model around a network that was trained elsewhere: with a Gaussian-process head, its
    /// posterior is accumulated in one pass over `inputs`. `labels` names the classes; it is empty
    /// for regression.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use ndarray::array;
    /// use sngp::backbone::{ResFfn, ResFfnConfig};
    /// use sngp::data::Table;
    /// use sngp::model::{Model, ModelConfig};
    /// use sngp::NetworkPlan;
    /// use sngp::nn::{GaussianProcessConfig, HeadConfig};
    ///
    /// let (device, backbone) = (Device::flex(), ResFfnConfig { depth: 2, ..Default::default() });
    /// let plan = NetworkPlan::<ResFfn> {
    ///     backbone: &backbone,
    ///     head: HeadConfig::GaussianProcess(GaussianProcessConfig::default()),
    ///     spectral: None,
    ///     outputs: 2,
    ///     log_noise: None,
    ///     pretrained: None,
    ///     pretrained_head: None,
    ///     seed: 1,
    /// };
    /// let network = plan.build(&device)?;
    /// let seen = Table::new(array![[0.0, 0.0], [1.0, 1.0]].view())?;
    /// let labels = vec!["no".to_string(), "yes".to_string()];
    /// let model =
    ///     Model::from_network(ModelConfig::default(), backbone, network, labels, &seen, &device)?;
    /// assert!(model.predict(&seen)?.variance.is_some());
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn from_network(
        config: ModelConfig,
        backbone: B::Config,
        network: Network<B>,
        labels: Vec<String>,
        inputs: &dyn Inputs<B::Batch>,
        device: &Device,
    ) -> Result<Self> {
        let members = config.method.recipe().members;
        if members != 1 {
            return Err(Error::config("members", members, "a model of one network has one"));
        }
        let outputs = network.head.outputs();
        let classes = config.likelihood.classes(outputs);
        if labels.len() != classes {
            return Err(Error::shape("names of the classes", classes, labels.len()));
        }
        let mut model = Self {
            config,
            backbone,
            labels,
            outputs,
            device: device.clone(),
            fitted: Fitted::Networks(Vec::new()),
            decision: None,
            attachments: Attachments::new(),
        };
        let posterior = match &network.head {
            Head::GaussianProcess(gp) => {
                let precision = model.accumulate_member(&network, gp, inputs)?;
                let noise = network.log_noise_value();
                let ridge =
                    model.config.posterior.ridge * model.config.likelihood.ridge_factor(noise);
                Some(Posterior::finish(precision, ridge, device)?)
            }
            _ => None,
        };
        model.fitted = Fitted::Networks(vec![Member { network, posterior }]);
        Ok(model)
    }

    /// The configuration it was fitted with.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The backbone's configuration.
    pub fn backbone(&self) -> &B::Config {
        &self.backbone
    }

    /// The device it is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The names of the classes; empty for regression.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The networks: one, the members of an ensemble, or none for the exact GP.
    pub fn networks(&self) -> impl Iterator<Item = &Network<B>> {
        self.members().iter().map(|member| &member.network)
    }

    /// The accumulated precision of each network with a Gaussian-process head.
    pub fn precisions(&self) -> impl Iterator<Item = &Precision> {
        self.members().iter().filter_map(|member| Some(member.posterior.as_ref()?.precision()))
    }

    fn members(&self) -> &[Member<B>] {
        match &self.fitted {
            Fitted::Networks(members) => members,
            Fitted::Exact(_) => &[],
        }
    }

    /// Accumulates the precision of other inputs, e.g. a shard, for every network with a
    /// Gaussian-process head: parts that [`merge`](Precision::merge) with those of other shards.
    pub fn accumulate(&self, inputs: &dyn Inputs<B::Batch>) -> Result<Vec<Precision>> {
        self.each_process(|network, gp| self.accumulate_member(network, gp, inputs))
    }

    /// The same of one batch.
    pub fn accumulate_batch(&self, batch: &B::Batch) -> Result<Vec<Precision>> {
        self.each_process(|network, gp| {
            let mut precision = self.empty_precision(network, gp)?;
            add_batch(network, &mut precision, batch.clone())?;
            Ok(precision)
        })
    }

    fn each_process(
        &self,
        work: impl Fn(&Network<B>, &GaussianProcess) -> Result<Precision>,
    ) -> Result<Vec<Precision>> {
        let fitted = self.members().iter().filter(|member| member.posterior.is_some());
        let parts = fitted.map(|Member { network, .. }| match &network.head {
            Head::GaussianProcess(gp) => work(network, gp),
            _ => Err(Error::Unsupported("only a Gaussian process accumulates".to_string())),
        });
        parts.collect()
    }

    fn empty_precision(&self, network: &Network<B>, gp: &GaussianProcess) -> Result<Precision> {
        let curvature = self.config.likelihood.curvature(self.config.posterior.curvature)?;
        let hash = network.feature_map_hash(&self.backbone);
        Ok(Precision::new(gp.features().count(), self.outputs, curvature, hash))
    }

    fn accumulate_member(
        &self,
        network: &Network<B>,
        gp: &GaussianProcess,
        inputs: &dyn Inputs<B::Batch>,
    ) -> Result<Precision> {
        accumulate(network, self.empty_precision(network, gp)?, inputs, &self.device)
    }

    /// The same model with other precisions, e.g. merged ones, one for each network. They have to
    /// be of the model's own feature maps.
    pub fn with_precisions(mut self, precisions: Vec<Precision>) -> Result<Self> {
        let wanted = self.precisions().count();
        if precisions.len() != wanted {
            return Err(Error::shape("precisions", wanted, precisions.len()));
        }
        if let Fitted::Networks(members) = &mut self.fitted {
            let posteriors = members.iter_mut().filter_map(|member| member.posterior.as_mut());
            for (posterior, precision) in posteriors.zip(precisions) {
                if precision.hash() != posterior.precision().hash() {
                    let message = "the precision is of another feature map than the model's";
                    return Err(Error::Merge(message.to_string()));
                }
                *posterior = Posterior::finish(precision, posterior.ridge(), &self.device)?;
            }
        }
        Ok(self)
    }

    /// Predicts every row.
    pub fn predict(&self, inputs: &dyn Inputs<B::Batch>) -> Result<Prediction> {
        let batches = batches(inputs, EVALUATION_BATCH);
        let parts = batches.iter().map(|rows| self.predict_batch(inputs.batch(rows, &self.device)));
        let prediction = Prediction::concatenate(parts.collect::<Result<_>>()?)?;
        Ok(prediction.restore_order(&batches.concat()))
    }

    /// Predicts one batch.
    pub fn predict_batch(&self, batch: B::Batch) -> Result<Prediction> {
        B::check(&self.backbone, &batch)?;
        match &self.fitted {
            Fitted::Exact(gp) => {
                let inputs = batch.flatten().ok_or_else(no_vectors)?;
                let latent = gp.predict(host::matrix(inputs).view())?;
                if latent.mean.ncols() > 2 {
                    return self.prediction(latent.mean, Some(latent.variance), None);
                }
                // Two classes have one latent, in the second column: its noise is not one of
                // each logit.
                let integration = &self.config.integration;
                let variance = Some(latent.variance.view());
                let one = latent.mean.slice(s![.., 1..]);
                Ok(Prediction {
                    predictive: Bernoulli {}.predict(one, variance, integration, None)?,
                    logits: one.to_owned(),
                    variance: Some(latent.variance),
                    mean_field_factor: integration.mean_field_factor(),
                    hidden: None,
                    detectors: None,
                    combination: None,
                })
            }
            Fitted::Networks(members) => {
                let passes = self.config.method.recipe().passes;
                let mut parts = Vec::with_capacity(members.len() * passes);
                for member in members {
                    for index in 0..passes {
                        let mut pass = match passes {
                            1 => Pass::evaluate(),
                            _ => Pass::sample(self.config.seed, index as u64),
                        };
                        parts.push(self.predict_pass(member, batch.clone(), &mut pass)?);
                    }
                }
                let mut prediction = Prediction::average(parts)?;
                if let (Some(first), true) = (members.first(), passes > 1) {
                    // Detectors are fitted to what the network makes of inputs without dropout.
                    let hidden = first.network.backbone.forward(batch, &mut Pass::evaluate());
                    prediction.hidden = Some(host::matrix_f32(hidden));
                }
                Ok(prediction)
            }
        }
    }

    fn predict_pass(
        &self,
        member: &Member<B>,
        batch: B::Batch,
        pass: &mut Pass,
    ) -> Result<Prediction> {
        let hidden = member.network.backbone.forward(batch, pass);
        let output = member.network.head.forward(hidden.clone());
        let variance = match (&member.posterior, &output.features) {
            (Some(posterior), Some(features)) => Some(posterior.variance(features)),
            _ => None,
        };
        let prediction = self.prediction(
            host::matrix(output.logits),
            variance.map(host::matrix),
            member.network.log_noise_value(),
        )?;
        // A pass that is sampled has vectors of its own, which no detector was fitted to.
        let hidden = (pass.mode() == Mode::Evaluate).then(|| host::matrix_f32(hidden));
        Ok(Prediction { hidden, ..prediction })
    }

    fn prediction(
        &self,
        logits: ndarray::Array2<f64>,
        variance: Option<ndarray::Array2<f64>>,
        log_noise: Option<f64>,
    ) -> Result<Prediction> {
        if logits.iter().any(|value| !value.is_finite()) {
            return Err(Error::Data(
                "the network's output is not finite; an input may be far outside f32's range"
                    .to_string(),
            ));
        }
        let integration = &self.config.integration;
        let likelihood: &Likelihood = &self.config.likelihood;
        let view = variance.as_ref().map(|variance| variance.view());
        let predictive = likelihood.predict(logits.view(), view, integration, log_noise)?;
        Ok(Prediction {
            predictive,
            logits,
            variance,
            mean_field_factor: integration.mean_field_factor(),
            hidden: None,
            detectors: None,
            combination: None,
        })
    }
}
