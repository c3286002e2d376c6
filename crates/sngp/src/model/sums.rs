//! An output layer fitted by sums over rows that lie anywhere.
//!
//! The best weights minimise `sum_i loss_i + l2 ||beta||^2 / 2`. Loss, gradient and
//! `sum phi phi^T` are sums over rows, so every machine computes those of its own rows, and only
//! the sums travel. All of them are taken in f64: how rows are spread over machines changes nothing
//! but the last digits.

use burn::tensor::Device;
use ndarray::{Array1, Array2, ArrayView2};

use super::compose::Attachments;
use super::config::ModelConfig;
use super::fitted::{Fitted, Member};
use super::output::with_weights;
use super::shipped::ShippedModel;
use crate::backbone::{Backbone, IdentityConfig, Shipped, ShippedConfig};
use crate::convex::{Convergence, Function, Stop, minimize};
use crate::likelihood::Likelihood;
use crate::method::Output;
use crate::network::{Network, NetworkPlan};
use crate::nn::{GaussianProcess, Head, HeadConfig, matrix};
use crate::posterior::{Covariance, Curvature, FeatureMapHash, Posterior, Precision};
use crate::{Error, Pass, Result, host};

/// Rows whose features are computed together.
const BLOCK: usize = 2048;
/// A pass over all rows is dear; what is left to gain then changes no probability by much.
const STOP: Stop = Stop { tolerance: 1e-6, iterations: 200 };

/// An output layer before it is fitted: what every machine has to agree on. The same
/// configuration gives the same feature map everywhere; sums of another one are refused.
///
/// ```
/// use burn::tensor::Device;
/// use ndarray::array;
/// use sngp::model::{LossSum, ModelConfig, OutputPlan};
/// use sngp::posterior::Curvature;
///
/// let mut config = ModelConfig::default();
/// config.gaussian_process.features.count = 64;
/// config.posterior.curvature = Some(Curvature::Gaussian);
/// let labels = ["low".to_string(), "high".to_string()].to_vec();
/// let plan = OutputPlan::new(config, 2, labels, &Device::flex())?;
///
/// let shards = [
///     (array![[-1.0, 0.0], [1.0, 0.1]], [0, 1]),
///     (array![[-0.9, 0.1], [0.9, -0.1]], [0, 1]),
/// ];
/// let mut gram = plan.gram(shards[0].0.view())?;
/// gram.merge(&plan.gram(shards[1].0.view())?)?;
/// let (model, found) = plan.solve(gram, None, |weights| {
///     let mut sum = LossSum::new(weights.len());
///     for (rows, classes) in &shards {
///         sum.add(&plan.loss(weights, rows.view(), classes)?)?;
///     }
///     Ok(sum)
/// })?;
/// assert!(found.converged);
/// assert_eq!(model.precisions().next().unwrap().rows(), 4);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OutputPlan {
    config: ModelConfig,
    backbone: ShippedConfig,
    labels: Vec<String>,
    network: Network<Shipped>,
    hash: FeatureMapHash,
    device: Device,
}

/// Loss and gradient of some rows, without the prior's. Sums of other rows are added.
#[derive(Clone, Debug, PartialEq)]
pub struct LossSum {
    /// Rows in it.
    pub rows: u64,
    /// The sum of their losses.
    pub loss: f64,
    /// The gradient of that by the weights `[features, outputs]`, row by row.
    pub gradient: Vec<f64>,
}

impl LossSum {
    /// The sum of no rows, for so many weights.
    pub fn new(weights: usize) -> Self {
        Self { rows: 0, loss: 0.0, gradient: vec![0.0; weights] }
    }

    /// Adds the sum of other rows.
    pub fn add(&mut self, other: &Self) -> Result<()> {
        if self.gradient.len() != other.gradient.len() {
            let (own, others) = (self.gradient.len(), other.gradient.len());
            return Err(Error::shape("numbers of a gradient", own, others));
        }
        self.rows += other.rows;
        self.loss += other.loss;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(sum, part)| *sum += part);
        Ok(())
    }
}

impl OutputPlan {
    /// A plan for vectors of a width and named classes.
    pub fn new(
        config: ModelConfig,
        width: usize,
        labels: Vec<String>,
        device: &Device,
    ) -> Result<Self> {
        config.check(false)?;
        let recipe = config.method.recipe();
        let plain = recipe.output == Output::GaussianProcess
            && recipe.members == 1
            && recipe.passes == 1
            && matches!(config.likelihood, Likelihood::Softmax(_))
            && config.likelihood.curvature(config.posterior.curvature)? == Curvature::Gaussian;
        if !plain {
            return Err(Error::Unsupported(format!(
                "{} cannot be fitted by sums: one Gaussian process with the softmax likelihood and \
                 the Gaussian curvature can",
                config.method
            )));
        }
        let l2 = config.gaussian_process.l2;
        if !(l2.is_finite() && l2 > 0.0) {
            let rule = "it must be positive for the output layer to have one best solution";
            return Err(Error::config("l2", l2, rule));
        }
        if labels.len() < 2 {
            return Err(Error::Data(format!("{} classes are nothing to tell apart", labels.len())));
        }
        let backbone = ShippedConfig::from(IdentityConfig { width });
        let plan = NetworkPlan {
            backbone: &backbone,
            head: HeadConfig::GaussianProcess(config.gaussian_process.clone()),
            spectral: None,
            outputs: labels.len(),
            log_noise: None,
            pretrained: None,
            pretrained_head: None,
            seed: config.seed,
        };
        let network: Network<Shipped> = plan.build(device)?;
        let hash = network.feature_map_hash(&backbone);
        Ok(Self { config, backbone, labels, network, hash, device: device.clone() })
    }

    /// The numbers of a vector.
    pub fn width(&self) -> usize {
        Shipped::width(&self.backbone)
    }

    /// The shape `[features, outputs]` of the weights.
    pub fn shape(&self) -> [usize; 2] {
        [self.config.gaussian_process.features.count, self.labels.len()]
    }

    /// The names of the classes.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    fn process(&self) -> Result<&GaussianProcess> {
        match &self.network.head {
            Head::GaussianProcess(process) => Ok(process),
            _ => Err(Error::Unsupported("only a Gaussian process has features".to_string())),
        }
    }

    /// The features of rows, a block at a time.
    fn blocks<'a>(
        &'a self,
        rows: ArrayView2<'a, f32>,
    ) -> Result<impl Iterator<Item = Result<Array2<f64>>> + 'a> {
        if rows.ncols() != self.width() {
            return Err(Error::shape("numbers of a vector", self.width(), rows.ncols()));
        }
        if let Some(row) = rows.outer_iter().position(|row| row.iter().any(|v| !v.is_finite())) {
            return Err(Error::Data(format!("row {} has a number that is not finite", row + 1)));
        }
        let process = self.process()?;
        let features = move |start: usize| {
            let end = rows.nrows().min(start + BLOCK);
            let block = rows.slice_move(ndarray::s![start..end, ..]);
            let batch = Shipped::batch_of_rows(&self.backbone, matrix(block, &self.device))
                .ok_or_else(|| Error::Unsupported("vectors are needed".to_string()))?;
            let hidden = self.network.backbone.forward(batch, &mut Pass::evaluate());
            Ok(host::matrix(process.features().forward(hidden)))
        };
        Ok((0..rows.nrows()).step_by(BLOCK).map(features))
    }

    /// `sum phi phi^T` of rows: the precision that they add.
    pub fn gram(&self, rows: ArrayView2<'_, f32>) -> Result<Precision> {
        let [features, outputs] = self.shape();
        let mut gram = Precision::new(features, outputs, Curvature::Gaussian, self.hash);
        for block in self.blocks(rows)? {
            let block = block?;
            gram.add(block.view(), Array2::zeros((block.nrows(), 1)).view())?;
        }
        Ok(gram)
    }

    /// Loss and gradient of rows at some weights `[features, outputs]`, row by row.
    pub fn loss(
        &self,
        weights: &[f64],
        rows: ArrayView2<'_, f32>,
        classes: &[usize],
    ) -> Result<LossSum> {
        let shape = self.shape();
        let weights = ArrayView2::from_shape(shape, weights)
            .map_err(|_| Error::shape("weights", shape[0] * shape[1], weights.len()))?;
        if classes.len() != rows.nrows() {
            return Err(Error::shape("classes of the rows", rows.nrows(), classes.len()));
        }
        if let Some(&class) = classes.iter().find(|class| **class >= shape[1]) {
            return Err(Error::Data(format!("class {class} of {} classes", shape[1])));
        }
        let (mut loss, mut gradient) = (0.0, Array2::<f64>::zeros(shape));
        for (features, classes) in self.blocks(rows)?.zip(classes.chunks(BLOCK)) {
            let features = features?;
            let mut logits = features.dot(&weights);
            for (mut row, &class) in logits.outer_iter_mut().zip(classes) {
                let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let own = row[class] - most;
                row.mapv_inplace(|logit| (logit - most).exp());
                let sum = row.sum();
                loss += sum.ln() - own;
                // What remains is the derivative by the logits: probability less truth.
                row.mapv_inplace(|value| value / sum);
                row[class] -= 1.0;
            }
            gradient += &features.t().dot(&logits);
        }
        let gradient = gradient.iter().copied().collect();
        Ok(LossSum { rows: rows.nrows() as u64, loss, gradient })
    }

    /// Solves it: `gram` is the sum over all rows, and `evaluate` gives the sum of their losses at
    /// the weights it is asked for. `start` are weights near the solution, such as that of a
    /// sample; the classes' moment tells some when absent.
    pub fn solve(
        &self,
        gram: Precision,
        start: Option<Vec<f64>>,
        evaluate: impl FnMut(&[f64]) -> Result<LossSum>,
    ) -> Result<(ShippedModel, Convergence)> {
        let (weights, convergence) = self.weights(&gram, start, evaluate)?;
        let mut network = self.network.clone();
        network.head = with_weights(network.head, &weights, self.labels.len())?;
        let ridge = self.config.posterior.ridge;
        let posterior = Some(Posterior::finish(gram, ridge, &self.device)?);
        let model = ShippedModel {
            config: self.config.clone(),
            backbone: self.backbone.clone(),
            labels: self.labels.clone(),
            outputs: self.labels.len(),
            device: self.device.clone(),
            fitted: Fitted::Networks(vec![Member { network, posterior }]),
            decision: None,
            attachments: Attachments::new(),
        };
        Ok((model, convergence))
    }

    /// The same without a model: the weights alone.
    pub fn weights(
        &self,
        gram: &Precision,
        start: Option<Vec<f64>>,
        evaluate: impl FnMut(&[f64]) -> Result<LossSum>,
    ) -> Result<(Vec<f64>, Convergence)> {
        if gram.hash() != self.hash {
            let message = "the sum is of another feature map than the plan's";
            return Err(Error::Merge(message.to_string()));
        }
        let l2 = self.config.gaussian_process.l2;
        let [features, outputs] = self.shape();
        // As for rows at hand: about the mean curvature of a logit near the solution.
        let curvature = 0.03 / outputs as f64;
        let mut sums = Sums {
            shape: [features, outputs],
            l2,
            inverse: gram.finish(l2 / curvature)?,
            rows: gram.rows(),
            evaluations: 0,
            evaluate,
        };
        let start = match start {
            Some(start) => start,
            None => {
                let (_, gradient) = sums.evaluate(&vec![0.0; features * outputs])?;
                let direction = sums.times(&gram.finish(1.0)?, &gradient);
                direction.iter().map(|value| -8.0 * value).collect()
            }
        };
        let minimum = minimize(&mut sums, start, STOP)?;
        let convergence = Convergence {
            iterations: minimum.iterations,
            evaluations: sums.evaluations,
            objective: minimum.value / gram.rows().max(1) as f64,
            converged: minimum.converged,
        };
        Ok((minimum.point, convergence))
    }
}

/// The objective, whose sums come from elsewhere.
struct Sums<E> {
    shape: [usize; 2],
    l2: f64,
    /// `S` with `S / l2 ~ H^-1`.
    inverse: Covariance,
    rows: u64,
    evaluations: usize,
    evaluate: E,
}

impl<E> Sums<E> {
    /// `S v` for `v [features, outputs]`, row by row.
    fn times(&self, matrix: &Covariance, values: &[f64]) -> Vec<f64> {
        let [features, outputs] = self.shape;
        let mut product = vec![0.0; values.len()];
        for output in 0..outputs {
            let column: Array1<f64> = (0..features).map(|i| values[i * outputs + output]).collect();
            for (i, value) in matrix.times_vector(&column).into_iter().enumerate() {
                product[i * outputs + output] = value;
            }
        }
        product
    }
}

impl<E: FnMut(&[f64]) -> Result<LossSum>> Function for Sums<E> {
    fn evaluate(&mut self, point: &[f64]) -> Result<(f64, Vec<f64>)> {
        self.evaluations += 1;
        let LossSum { rows, loss, mut gradient } = (self.evaluate)(point)?;
        if rows != self.rows {
            return Err(Error::shape("rows of the loss", self.rows, rows));
        }
        if gradient.len() != point.len() {
            return Err(Error::shape("numbers of the gradient", point.len(), gradient.len()));
        }
        let squares: f64 = point.iter().map(|value| value * value).sum();
        gradient.iter_mut().zip(point).for_each(|(sum, value)| *sum += self.l2 * value);
        Ok((loss + 0.5 * self.l2 * squares, gradient))
    }

    fn precondition(&self, gradient: &[f64]) -> Vec<f64> {
        let mut product = self.times(&self.inverse, gradient);
        product.iter_mut().for_each(|value| *value /= self.l2);
        product
    }
}
