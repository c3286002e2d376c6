//! Fitting the output layer alone.

use burn::module::Param;
use burn::tensor::{Tensor, TensorData};

use super::compose::Attachments;
use super::estimator::{Estimator, FitOptions, accumulate};
use super::fitted::{Fitted, Member, Model};
use crate::backbone::Backbone;
use crate::convex::{Convergence, OutputProblem, OutputSolution};
use crate::data::Labelled;
use crate::network::{Network, NetworkPlan};
use crate::nn::Head;
use crate::posterior::{Curvature, Posterior, Precision};
use crate::{Error, Result};

impl<B: Backbone> Estimator<B> {
    /// Fits the output layer to convergence and leaves the backbone as it is: pretrained, or one
    /// that has nothing to train. `l2` is the prior's strength for a dense layer too; training
    /// options and validation data are not used.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use ndarray::array;
    /// use sngp::backbone::{Identity, IdentityConfig};
    /// use sngp::data::{Labelled, Table, Targets};
    /// use sngp::model::{Estimator, FitOptions, ModelConfig};
    ///
    /// let vectors = array![[-1.0, 0.0], [-0.9, 0.1], [1.0, 0.0], [0.9, -0.1]];
    /// let data = Labelled::new(
    ///     Table::new(vectors.view())?,
    ///     Targets::classes(vec![0, 0, 1, 1], 2)?,
    /// )?;
    /// let estimator = Estimator::<Identity>::new(ModelConfig::default(), IdentityConfig { width: 2 });
    /// let (model, convergence) = estimator.fit_output(&data, FitOptions::new(&Device::flex()))?;
    /// assert!(convergence.converged);
    /// assert_eq!(model.predict(&*data.inputs)?.labels()?, [0, 0, 1, 1]);
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn fit_output(
        &self,
        data: &Labelled<B::Batch>,
        options: FitOptions<'_, B>,
    ) -> Result<(Model<B>, Convergence)> {
        let (labels, outputs) = self.prepare(data, &options)?;
        let config = &self.config;
        let recipe = config.method.recipe();
        let head = config.head().filter(|_| recipe.members == 1 && recipe.passes == 1);
        let Some(head) = head else {
            let message = format!("{} is more than one pass through one network", config.method);
            return Err(Error::Unsupported(message));
        };
        // Nothing of the backbone changes, so nothing has to be kept within bounds.
        let plan = NetworkPlan { spectral: None, ..self.plan(&head, outputs, config.seed) };
        let mut network = plan.build(&options.device)?;
        if matches!(network.head, Head::RbfCentroids(_)) {
            let message = format!("the output layer of {} is no convex problem", config.method);
            return Err(Error::Unsupported(message));
        }
        let problem = OutputProblem {
            network: &network,
            data,
            likelihood: &config.likelihood,
            outputs,
            l2: config.gaussian_process.l2,
            device: &options.device,
            interrupter: &options.interrupter,
        };
        let mut observer = (options.observe)(0);
        let OutputSolution { weights, log_noise, gram, convergence } =
            problem.solve(&mut *observer)?;
        network.head = with_weights(network.head, &weights, outputs)?;
        network.log_noise = log_noise
            .map(|noise| Param::from_tensor(Tensor::<1>::full([1], noise, &options.device)));
        let posterior = self.posterior(&network, gram, data, outputs, &options)?;
        let model = Model {
            config: config.clone(),
            backbone: self.backbone.clone(),
            labels,
            outputs,
            device: options.device,
            fitted: Fitted::Networks(vec![Member { network, posterior }]),
            decision: None,
            attachments: Attachments::new(),
        };
        Ok((model, convergence))
    }

    fn posterior(
        &self,
        network: &Network<B>,
        gram: Precision,
        data: &Labelled<B::Batch>,
        outputs: usize,
        options: &FitOptions<'_, B>,
    ) -> Result<Option<Posterior>> {
        let Head::GaussianProcess(gp) = &network.head else { return Ok(None) };
        let likelihood = &self.config.likelihood;
        let hash = network.feature_map_hash(&self.backbone);
        let precision = match likelihood.curvature(self.config.posterior.curvature)? {
            // The solver has summed it already.
            Curvature::Gaussian => gram.with_hash(hash),
            curvature => {
                let empty = Precision::new(gp.features().count(), outputs, curvature, hash);
                accumulate(network, empty, &*data.inputs, &options.device)?
            }
        };
        let noise = network.log_noise_value();
        let ridge = self.config.posterior.ridge * likelihood.ridge_factor(noise);
        Ok(Some(Posterior::finish(precision, ridge, &options.device)?))
    }
}

/// The head with the solver's weights `[features, outputs]`.
pub(super) fn with_weights(head: Head, weights: &[f64], outputs: usize) -> Result<Head> {
    let values = |gain: f64, weights: &[f64]| -> Vec<f32> {
        weights.iter().map(|&weight| (weight / gain) as f32).collect()
    };
    Ok(match head {
        Head::GaussianProcess(gp) => {
            let beta = values(gp.feature_gain(), weights);
            Head::GaussianProcess(gp.with_beta(beta)?)
        }
        Head::Dense(mut linear) => {
            // The last feature is the constant that carries the bias.
            let (weight, bias) = weights.split_at(weights.len() - outputs);
            let device = linear.weight.device();
            let shape = linear.weight.dims();
            let weight = TensorData::new(values(1.0, weight), shape);
            linear.weight = Param::from_data(weight, &device);
            let bias = TensorData::new(values(1.0, bias), [outputs]);
            linear.bias = Some(Param::from_data(bias, &device));
            Head::Dense(linear)
        }
        Head::RbfCentroids(_) => head,
    })
}
