//! Models made of other models, and what can be changed about one without training.

use std::collections::BTreeMap;

use super::config::ModelConfig;
use super::decision::Decision;
use super::directory;
use super::fitted::{Fitted, Member, Model};
use super::manifest::is_plain;
use crate::backbone::Backbone;
use crate::network::Network;
use crate::nn::Head;
use crate::posterior::Posterior;
use crate::predict::Integration;
use crate::score::Score;
use crate::{Error, Result};

impl<B: Backbone> Model<B> {
    /// A model of networks that are there already: an ensemble of single models, or one that only
    /// predicts differently, as MC dropout does with a deterministic network. The parts have to
    /// be trained as the method trains its networks.
    pub fn assemble(config: ModelConfig, parts: Vec<Self>) -> Result<Self> {
        let wanted = config.method.recipe();
        let mut parts = parts.into_iter();
        let mut whole =
            parts.next().ok_or_else(|| Error::Data("there is no model to assemble".to_string()))?;
        let trained = |config: &ModelConfig| {
            let spectral = config.method.recipe().spectral.then(|| config.spectral.clone());
            (config.head(), spectral, config.likelihood.clone(), config.posterior.curvature)
        };
        if trained(&whole.config) != trained(&config) {
            let method = &whole.config.method;
            let message = format!("{} is not made of such networks of {method}", config.method);
            return Err(Error::Unsupported(message));
        }
        for part in parts {
            if trained(&part.config) != trained(&config)
                || part.backbone != whole.backbone
                || part.labels != whole.labels
                || part.outputs != whole.outputs
            {
                let message = "the models differ in method, backbone or classes".to_string();
                return Err(Error::Unsupported(message));
            }
            if let (Fitted::Networks(members), Fitted::Networks(more)) =
                (&mut whole.fitted, part.fitted)
            {
                members.extend(more);
            }
        }
        let found = whole.networks().count();
        if found != wanted.members {
            return Err(Error::shape("networks of the model", wanted.members, found));
        }
        Ok(Self { config, decision: None, ..whole })
    }

    /// The same model behind another backbone that ends in its own, e.g. vectors of a frozen
    /// encoder behind that encoder. The features, and so the posterior, have to be the same.
    pub fn behind<C: Backbone>(self, config: C::Config, wrap: impl Fn(B) -> C) -> Result<Model<C>> {
        let Fitted::Networks(members) = self.fitted else {
            return Err(Error::Unsupported("the exact GP has no network to extend".to_string()));
        };
        let members = members.into_iter().map(|Member { network, posterior }| {
            let Network { backbone, head, spectral, log_noise } = network;
            let network = Network { backbone: wrap(backbone), head, spectral, log_noise };
            let hash = network.feature_map_hash(&config);
            Member { network, posterior: posterior.map(|posterior| posterior.with_hash(hash)) }
        });
        Ok(Model {
            fitted: Fitted::Networks(members.collect()),
            config: self.config,
            backbone: config,
            labels: self.labels,
            outputs: self.outputs,
            device: self.device,
            decision: self.decision,
            attachments: self.attachments,
        })
    }

    /// The same model with the state of another one's spectral normalization: one whose output layer
    /// was solved on that one's network.
    pub fn with_spectral_of(mut self, other: &Self) -> Self {
        if let (Fitted::Networks(members), Fitted::Networks(others)) =
            (&mut self.fitted, &other.fitted)
        {
            for (member, other) in members.iter_mut().zip(others) {
                member.network.spectral = other.network.spectral.clone();
            }
        }
        self
    }

    /// The same model with its expectation over the posterior taken differently.
    pub fn with_integration(mut self, integration: Integration) -> Result<Self> {
        integration.check()?;
        self.config.integration = integration;
        Ok(self)
    }

    /// The same model, uncertain by another score, or by the default one. A decision it may have
    /// keeps the score it was made with.
    pub fn with_score(mut self, score: Option<Score>) -> Self {
        self.config.score = score;
        self
    }

    /// The same model with another ridge of its posterior.
    pub fn with_ridge(mut self, ridge: f64) -> Result<Self> {
        self.config.posterior.ridge = ridge;
        self.config.posterior.check()?;
        let likelihood = &self.config.likelihood;
        if let Fitted::Networks(members) = &mut self.fitted {
            for Member { network, posterior } in members {
                if let Some(old) = posterior {
                    let ridge = ridge * likelihood.ridge_factor(network.log_noise_value());
                    *old = Posterior::finish(old.precision().clone(), ridge, &self.device)?;
                }
            }
        }
        Ok(self)
    }

    /// The same model with its mean logits multiplied, e.g. to be calibrated on held-out data. The
    /// features, and so the posterior, stay what they are.
    pub fn with_logit_scale(mut self, scale: f64) -> Result<Self> {
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Error::config("the scale of the logits", scale, "it must be positive"));
        }
        let Fitted::Networks(members) = &mut self.fitted else {
            return Err(Error::Unsupported("the exact GP has no output weights".to_string()));
        };
        for member in members {
            match &member.network.head {
                Head::GaussianProcess(gp) => {
                    let gain = gp.feature_gain() * scale;
                    member.network.head = Head::GaussianProcess(gp.clone().with_feature_gain(gain));
                }
                _ => {
                    let message = "only a Gaussian process has a factor on its features";
                    return Err(Error::Unsupported(message.to_string()));
                }
            }
        }
        self.config.gaussian_process.feature_gain *= scale;
        Ok(self)
    }

    /// The same model with a rule that says when it abstains.
    pub fn with_decision(mut self, decision: Decision) -> Self {
        self.decision = Some(decision);
        self
    }

    /// When it abstains, if it has been told.
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// The same model with a file that is saved in its folder, e.g. a tokenizer.
    pub fn with_attachment(mut self, name: &str, bytes: Vec<u8>) -> Result<Self> {
        if !is_plain(name) || directory::is_reserved(name) {
            return Err(Error::Data(format!("`{name}` cannot be the name of an attached file")));
        }
        self.attachments.insert(name.to_string(), bytes);
        Ok(self)
    }

    /// A file saved with the model.
    pub fn attachment(&self, name: &str) -> Option<&[u8]> {
        self.attachments.get(name).map(Vec::as_slice)
    }
}

/// Files saved with a model, by name.
pub(super) type Attachments = BTreeMap<String, Vec<u8>>;
