//! The objective over all rows, block by block.

use burn::tensor::{Device, Tensor, TensorData};
use rand::seq::SliceRandom;

use super::lbfgs::{Function, Stop, minimize};
use super::{Convergence, least_squares};
use crate::backbone::Backbone;
use crate::data::{Labelled, TargetBatch};
use crate::likelihood::Likelihood;
use crate::network::Network;
use crate::nn::{Activation, Head};
use crate::posterior::{Covariance, Curvature, FeatureMapHash, Precision};
use crate::seed::{Purpose, stream};
use crate::train::{EpochSummary, Interrupter, Observer, check_interrupted};
use crate::{Error, Pass, Result, host};

/// Rows whose features are computed together.
const BLOCK: usize = 2048;
/// Bytes of features that are kept between evaluations; what does not fit is computed again.
const KEPT_BYTES: usize = 1 << 30;
const STOP: Stop = Stop { tolerance: 3e-4, iterations: 200 };

/// What the output layer is fitted to.
pub(crate) struct OutputProblem<'a, B: Backbone> {
    pub network: &'a Network<B>,
    pub data: &'a Labelled<B::Batch>,
    pub likelihood: &'a Likelihood,
    pub outputs: usize,
    /// Strength of the prior `N(0, 1 / l2)` on every weight.
    pub l2: f64,
    pub device: &'a Device,
    pub interrupter: &'a Interrupter,
}

/// The solution: weights `[features, outputs]`, row by row, and what was found on the way.
pub(crate) struct OutputSolution {
    pub weights: Vec<f64>,
    /// The learned log noise variance, for likelihoods with one.
    pub log_noise: Option<f64>,
    /// `sum phi phi^T`.
    pub gram: Precision,
    pub convergence: Convergence,
}

struct Block {
    features: Tensor<2>,
    targets: TargetBatch,
    rows: usize,
}

impl<B: Backbone> OutputProblem<'_, B> {
    /// Solves it.
    pub fn solve(&self, observer: &mut dyn Observer) -> Result<OutputSolution> {
        if !(self.l2.is_finite() && self.l2 > 0.0) {
            let rule = "it must be positive for the output layer to have one best solution";
            return Err(Error::config("l2", self.l2, rule));
        }
        let kept_rows = (KEPT_BYTES / (4 * self.features())).max(BLOCK);
        let order = self.order(kept_rows);
        let (gram, kept) = self.first_pass(&order, kept_rows)?;
        if let Likelihood::Gaussian(gaussian) = self.likelihood {
            let moment = self.moment(&order, &kept)?;
            return least_squares::solve(gram, &moment, self.l2, gaussian);
        }
        observer.start(1, STOP.iterations);
        let solution = self.iterate(&order, kept, &gram, observer);
        observer.finish();
        let (weights, convergence) = solution?;
        Ok(OutputSolution { weights, log_noise: None, gram, convergence })
    }

    /// All rows, in an order that makes its beginning a fair sample of them.
    fn order(&self, kept: usize) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.data.rows()).collect();
        rows.shuffle(&mut stream(0, Purpose::Shuffle, 0));
        if kept < rows.len() {
            // Those that are read again and again are read in the order they lie in.
            rows[kept..].sort_unstable();
        }
        rows
    }

    /// The size of a feature vector.
    fn features(&self) -> usize {
        match &self.network.head {
            Head::GaussianProcess(gp) => gp.features().count(),
            // The bias is the weight of a feature that is always 1.
            Head::Dense(linear) => linear.weight.dims()[0] + 1,
            Head::RbfCentroids(_) => 0,
        }
    }

    fn block(&self, rows: &[usize]) -> Block {
        let batch = self.data.inputs.batch(rows, self.device);
        let hidden = self.network.backbone.forward(batch, &mut Pass::evaluate());
        let features = match &self.network.head {
            Head::GaussianProcess(gp) => gp.features().forward(hidden),
            _ => Tensor::cat(vec![hidden, Tensor::ones([rows.len(), 1], self.device)], 1),
        };
        Block { features, targets: self.data.targets.batch(rows, self.device), rows: rows.len() }
    }

    /// `sum phi phi^T`, and the features of the first rows.
    fn first_pass(&self, order: &[usize], kept_rows: usize) -> Result<(Precision, Vec<Block>)> {
        let hash = FeatureMapHash([0; 32]);
        let mut gram = Precision::new(self.features(), self.outputs, Curvature::Gaussian, hash);
        let mut kept = Vec::new();
        let mut done = 0;
        for rows in order.chunks(BLOCK) {
            check_interrupted(self.interrupter)?;
            let block = self.block(rows);
            let features = host::matrix_f32(block.features.clone());
            let nothing = ndarray::Array2::zeros((rows.len(), 1));
            match self.likelihood {
                // Least squares on numbers without noise solve with hardly a ridge: products
                // rounded to f32 would not be positive definite.
                Likelihood::Gaussian(_) => {
                    gram.add(features.mapv(f64::from).view(), nothing.view())?;
                }
                _ => gram.add(features.view(), nothing.view())?,
            }
            done += rows.len();
            if done <= kept_rows {
                kept.push(block);
            }
        }
        Ok((gram, kept))
    }

    /// Calls `work` with every block, the kept ones first.
    fn each(
        &self,
        order: &[usize],
        kept: &[Block],
        mut work: impl FnMut(&Block) -> Result<()>,
    ) -> Result<()> {
        let blocks = order.len().div_ceil(BLOCK);
        kept.iter().take(blocks).try_for_each(&mut work)?;
        for rows in order.chunks(BLOCK).skip(kept.len()) {
            check_interrupted(self.interrupter)?;
            work(&self.block(rows))?;
        }
        Ok(())
    }

    /// `sum_i phi_i y_i` and `sum_i y_i^2`.
    fn moment(&self, order: &[usize], kept: &[Block]) -> Result<least_squares::Moment> {
        let mut moment = least_squares::Moment::new(self.features());
        self.each(order, kept, |block| {
            let (features, targets) = (block.features.clone(), block.targets.numbers());
            moment.add(host::matrix(features).view(), &host::vector(targets));
            Ok(())
        })?;
        Ok(moment)
    }

    fn iterate(
        &self,
        order: &[usize],
        kept: Vec<Block>,
        gram: &Precision,
        observer: &mut dyn Observer,
    ) -> Result<(Vec<f64>, Convergence)> {
        // About the mean curvature p (1 - p) of a logit near the solution, where most examples are
        // classified with certainty and count little. The iteration corrects its scale.
        let curvature = 0.03 / self.outputs as f64;
        let mut objective = Objective {
            problem: self,
            order,
            kept,
            blocks: 1,
            inverse: self.on_device(&gram.finish(self.l2 / curvature)?),
            evaluations: 0,
            observer,
        };
        let start = objective.start(gram)?;
        objective.blocks = objective.kept.len();
        let mut minimum = minimize(&mut objective, start, STOP)?;
        let all = order.len().div_ceil(BLOCK);
        if objective.blocks < all {
            // The solution of the kept sample is close: a few passes over all rows remain.
            objective.blocks = all;
            let sampled = minimum.iterations;
            minimum = minimize(&mut objective, minimum.point, STOP)?;
            minimum.iterations += sampled;
        }
        let convergence = Convergence {
            iterations: minimum.iterations,
            evaluations: objective.evaluations,
            objective: minimum.value / self.data.rows() as f64,
            converged: minimum.converged,
        };
        Ok((minimum.point, convergence))
    }

    /// `S = F^T F`.
    fn on_device(&self, covariance: &Covariance) -> Tensor<2> {
        let transposed = covariance.to_device(self.device).squeeze_dim::<2>(0);
        transposed.clone().matmul(transposed.transpose())
    }

    /// `S v` for `v [features, outputs]`, row by row. Single precision: it only has to point
    /// downhill.
    fn product(&self, matrix: &Tensor<2>, values: &[f64]) -> Vec<f64> {
        host::vector(matrix.clone().matmul(self.weights(values)))
    }

    /// Values `[features, outputs]`, row by row, on the device.
    fn weights(&self, values: &[f64]) -> Tensor<2> {
        let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let shape = [self.features(), self.outputs];
        Tensor::from_data(TensorData::new(values, shape), self.device)
    }
}

/// The loss of the first blocks, which stand for all.
struct Objective<'a, B: Backbone> {
    problem: &'a OutputProblem<'a, B>,
    order: &'a [usize],
    kept: Vec<Block>,
    blocks: usize,
    /// `S` with `S / l2 ~ H^-1`.
    inverse: Tensor<2>,
    evaluations: usize,
    observer: &'a mut dyn Observer,
}

impl<B: Backbone> Objective<'_, B> {
    fn rows(&self) -> usize {
        (self.blocks * BLOCK).min(self.order.len())
    }

    /// The direction of regularized least squares on the classes (the gradient at zero is their
    /// moment), at the length that fits the first block best.
    fn start(&mut self, gram: &Precision) -> Result<Vec<f64>> {
        let size = self.problem.features() * self.problem.outputs;
        self.blocks = self.kept.len();
        let (_, gradient) = self.evaluate(&vec![0.0; size])?;
        let inverse = self.problem.on_device(&gram.finish(1.0)?);
        let direction = self.problem.product(&inverse, &gradient);
        self.blocks = 1;
        let at = |scale: f64| direction.iter().map(|d| -scale * d).collect::<Vec<_>>();
        let mut best = (8.0, self.evaluate(&at(8.0))?.0);
        for factor in [2.0, 0.5] {
            let mut tried = best;
            loop {
                tried = (tried.0 * factor, self.evaluate(&at(tried.0 * factor))?.0);
                // Not a number is no improvement either.
                let better = tried.1 < best.1;
                if !better || tried.0 < 1e-3 {
                    break;
                }
                best = tried;
            }
            if best.0 > 8.0 {
                break;
            }
        }
        Ok(at(best.0))
    }
}

impl<B: Backbone> Function for Objective<'_, B> {
    fn evaluate(&mut self, point: &[f64]) -> Result<(f64, Vec<f64>)> {
        let problem = self.problem;
        check_interrupted(problem.interrupter)?;
        self.evaluations += 1;
        let weights = problem.weights(point);
        let (mut loss, mut gradient) = (0.0, vec![0.0; point.len()]);
        let rows = self.rows();
        problem.each(&self.order[..rows], &self.kept, |block| {
            let weights = Tensor::autodiff(weights.clone()).require_grad();
            let features = Tensor::autodiff(block.features.clone());
            let logits = sngp_kernels::linear(
                features,
                weights.clone(),
                None,
                Activation::Identity,
                None,
                None,
            );
            let mean = problem.likelihood.loss(logits, &block.targets, None);
            let gradients = mean.backward();
            loss += f64::from(mean.inner().into_scalar::<f32>()) * block.rows as f64;
            if let Some(part) = weights.grad(&gradients) {
                for (sum, value) in gradient.iter_mut().zip(host::vector(part)) {
                    *sum += value * block.rows as f64;
                }
            }
            Ok(())
        })?;
        // A sample stands for all rows: the prior keeps its share.
        let share = problem.data.rows() as f64 / rows as f64;
        let squares: f64 = point.iter().map(|value| value * value).sum();
        for (sum, value) in gradient.iter_mut().zip(point) {
            *sum = *sum * share + problem.l2 * value;
        }
        Ok((loss * share + 0.5 * problem.l2 * squares, gradient))
    }

    fn precondition(&self, gradient: &[f64]) -> Vec<f64> {
        let mut product = self.problem.product(&self.inverse, gradient);
        product.iter_mut().for_each(|value| *value /= self.problem.l2);
        product
    }

    fn progress(&mut self, iteration: usize, value: f64) {
        self.observer.epoch(EpochSummary {
            epoch: iteration,
            epochs: STOP.iterations,
            loss: value / self.problem.data.rows() as f64,
            validation_loss: None,
        });
    }
}
