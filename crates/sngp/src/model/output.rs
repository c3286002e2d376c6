//! Fitting the output layer alone.

use std::ops::ControlFlow;

use burn::module::Param;
use burn::tensor::{Tensor, TensorData};
use ndarray::Array2;

use super::compose::Attachments;
use super::estimator::{Estimator, FitOptions, accumulate};
use super::fitted::{Fitted, Member, Model};
use crate::backbone::Backbone;
use crate::convex::{Convergence, OutputProblem, OutputSolution};
use crate::data::{Inputs, Labelled};
use crate::network::{Network, NetworkPlan};
use crate::nn::Head;
use crate::posterior::{Curvature, Posterior, Precision};
use crate::{Error, Pass, Result, host};

/// The solution for one strength of the prior, see [`Estimator::output_path`].
#[derive(Clone, Debug)]
pub struct PathStep {
    /// The strength.
    pub l2: f64,
    /// Logits of the rows held out.
    pub logits: Array2<f64>,
    /// The output layer.
    pub head: Head,
}

impl<B: Backbone> Estimator<B> {
    /// Fits the output layer to convergence and leaves the backbone as it is: pretrained, or one
    /// that has nothing to train. `l2` is the prior's strength for a dense layer too; training
    /// options and validation data are not used. An output layer given by
    /// [`with_head`](Self::with_head) is where the search begins.
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
        let mut network = self.fixed(outputs, &options)?;
        let problem = self.problem(&network, data, outputs, &options);
        // A given output layer is close already, if it is one of these features.
        let start = self.head.as_ref().and_then(weights_of);
        let mut observer = (options.observe)(0);
        let OutputSolution { weights, log_noise, gram, convergence } =
            problem.solve(start, &mut *observer)?;
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

    /// Rough solutions for several strengths of the prior, one after the other, for as long as
    /// `seen` wants more: to choose one by rows that are held out. Features and their sums are
    /// computed once, and every solution is the start of the next, so that all together take little
    /// longer than one. The best one's layer is a start for [`fit_output`](Self::fit_output), see
    /// [`with_head`](Self::with_head).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use burn::tensor::Device;
    /// use ndarray::array;
    /// use sngp::backbone::{Identity, IdentityConfig};
    /// use sngp::data::{Labelled, Table, Targets};
    /// use sngp::model::{Estimator, FitOptions, ModelConfig};
    ///
    /// let vectors = Table::new(array![[-1.0, 0.0], [-0.9, 0.1], [1.0, 0.0], [0.9, -0.1]].view())?;
    /// let data = Labelled::new(vectors, Targets::classes(vec![0, 0, 1, 1], 2)?)?;
    /// let held_out = Table::new(array![[0.95, 0.0]].view())?;
    /// let estimator = Estimator::<Identity>::new(ModelConfig::default(), IdentityConfig { width: 2 });
    /// let mut margins = Vec::new();
    /// let options = FitOptions::new(&Device::flex());
    /// estimator.output_path(&data, &held_out, &[1.0, 0.1], options, &mut |step| {
    ///     margins.push(step.logits[[0, 1]] - step.logits[[0, 0]]);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert!(margins[0] < margins[1]); // the weaker prior is surer
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn output_path(
        &self,
        data: &Labelled<B::Batch>,
        held_out: &dyn Inputs<B::Batch>,
        strengths: &[f64],
        options: FitOptions<'_, B>,
        seen: &mut dyn FnMut(PathStep) -> ControlFlow<()>,
    ) -> Result<()> {
        let (_, outputs) = self.prepare(data, &options)?;
        let network = self.fixed(outputs, &options)?;
        let Head::GaussianProcess(process) = &network.head else {
            let message = format!("{} has no Gaussian process", self.config.method);
            return Err(Error::Unsupported(message));
        };
        let rows: Vec<usize> = (0..held_out.rows()).collect();
        let batch = held_out.batch(&rows, &options.device);
        let hidden = network.backbone.forward(batch, &mut Pass::evaluate());
        let features = process.features().forward(hidden);
        let problem = self.problem(&network, data, outputs, &options);
        problem.path(strengths, &mut |l2, weights| {
            let logits = host::matrix(features.clone().matmul(problem.weights(weights)));
            let head = with_weights(network.head.clone(), weights, outputs)?;
            Ok(seen(PathStep { l2, logits, head }))
        })
    }

    /// The network whose output layer is to be solved for.
    fn fixed(&self, outputs: usize, options: &FitOptions<'_, B>) -> Result<Network<B>> {
        let config = &self.config;
        let recipe = config.method.recipe();
        let head = config.head().filter(|_| recipe.members == 1 && recipe.passes == 1);
        let Some(head) = head else {
            let message = format!("{} is more than one pass through one network", config.method);
            return Err(Error::Unsupported(message));
        };
        // Nothing of the backbone changes, so nothing has to be kept within bounds.
        let plan = NetworkPlan { spectral: None, ..self.plan(&head, outputs, config.seed) };
        let network = plan.build(&options.device)?;
        if matches!(network.head, Head::RbfCentroids(_)) {
            let message = format!("the output layer of {} is no convex problem", config.method);
            return Err(Error::Unsupported(message));
        }
        Ok(network)
    }

    fn problem<'a>(
        &'a self,
        network: &'a Network<B>,
        data: &'a Labelled<B::Batch>,
        outputs: usize,
        options: &'a FitOptions<'_, B>,
    ) -> OutputProblem<'a, B> {
        OutputProblem {
            network,
            data,
            likelihood: &self.config.likelihood,
            outputs,
            l2: self.config.gaussian_process.l2,
            device: &options.device,
            interrupter: &options.interrupter,
        }
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

/// The solver's weights `[features, outputs]` of a head that is solved already.
fn weights_of(head: &Head) -> Option<Vec<f64>> {
    match head {
        Head::GaussianProcess(gp) => Some(gp.weights()),
        _ => None,
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
