//! An output layer that was solved elsewhere.

use super::compose::Attachments;
use super::estimator::{Estimator, FitOptions, accumulate};
use super::fitted::{Fitted, Member, Model};
use crate::backbone::Backbone;
use crate::data::Labelled;
use crate::network::NetworkPlan;
use crate::nn::Head;
use crate::posterior::{Posterior, Precision};
use crate::{Error, Result};

impl<B: Backbone> Estimator<B> {
    /// A model with a Gaussian process whose output weights `[features, outputs]`, row by row, are
    /// known already; the posterior is that of the data. The backbone is left as it is.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use ndarray::array;
    /// use sngp::backbone::{Identity, IdentityConfig};
    /// use sngp::data::{Labelled, Table, Targets};
    /// use sngp::model::{Estimator, FitOptions, ModelConfig};
    ///
    /// let mut config = ModelConfig::default();
    /// config.gaussian_process.features.count = 4;
    /// config.gaussian_process.features.linear = 1.0;
    /// let data = Labelled::new(Table::new(array![[2.0, -2.0], [-2.0, 2.0]].view())?, Targets::classes(vec![0, 1], 2)?)?;
    /// let estimator = Estimator::<Identity>::new(config, IdentityConfig { width: 2 });
    /// // Nothing for the random features; the inputs are the logits.
    /// let weights = [[0.0; 2], [0.0; 2], [0.0; 2], [0.0; 2], [1.0, 0.0], [0.0, 1.0]].concat();
    /// let model = estimator.given_output(weights, &data, FitOptions::new(&Device::flex()))?;
    /// let prediction = model.predict(&*data.inputs)?;
    /// assert_eq!(prediction.logits[[0, 0]], 2.0);
    /// assert!(prediction.variance.is_some());
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn given_output(
        &self,
        weights: Vec<f32>,
        data: &Labelled<B::Batch>,
        options: FitOptions<'_, B>,
    ) -> Result<Model<B>> {
        let (labels, outputs) = self.prepare(data, &options)?;
        let config = &self.config;
        let recipe = config.method.recipe();
        let head = config.head().filter(|_| recipe.members == 1 && recipe.passes == 1);
        let unsupported = || {
            let message = format!("{} is no single Gaussian process", config.method);
            Error::Unsupported(message)
        };
        let head = head.ok_or_else(unsupported)?;
        // Nothing of the backbone changes, so nothing has to be kept within bounds.
        let plan = NetworkPlan { spectral: None, ..self.plan(&head, outputs, config.seed) };
        let mut network = plan.build(&options.device)?;
        let Head::GaussianProcess(gp) = network.head else { return Err(unsupported()) };
        let gain = gp.feature_gain() as f32;
        let weights = weights.into_iter().map(|weight| weight / gain).collect();
        let gp = gp.with_beta(weights)?;
        let features = gp.features().count();
        network.head = Head::GaussianProcess(gp);
        let curvature = config.likelihood.curvature(config.posterior.curvature)?;
        let hash = network.feature_map_hash(&self.backbone);
        let empty = Precision::new(features, outputs, curvature, hash);
        let precision = accumulate(&network, empty, &*data.inputs, &options.device)?;
        let noise = network.log_noise_value();
        let ridge = config.posterior.ridge * config.likelihood.ridge_factor(noise);
        let posterior = Some(Posterior::finish(precision, ridge, &options.device)?);
        Ok(Model {
            config: config.clone(),
            backbone: self.backbone.clone(),
            labels,
            outputs,
            device: options.device,
            fitted: Fitted::Networks(vec![Member { network, posterior }]),
            decision: None,
            attachments: Attachments::new(),
        })
    }
}
