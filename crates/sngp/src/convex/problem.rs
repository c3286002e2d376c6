//! The output layer's problem: features of all rows, block by block, and its solutions.

use std::ops::ControlFlow;

use burn::tensor::{Device, Tensor, TensorData};
use rand::seq::SliceRandom;

use super::lbfgs::{Stop, minimize};
use super::objective::Objective;
use super::{Convergence, least_squares};
use crate::backbone::Backbone;
use crate::data::{Labelled, TargetBatch};
use crate::likelihood::Likelihood;
use crate::network::Network;
use crate::nn::Head;
use crate::posterior::{Covariance, Curvature, FeatureMapHash, Precision};
use crate::seed::{Purpose, stream};
use crate::train::{Interrupter, Observer, Silent, check_interrupted};
use crate::{Error, Pass, Result, host};

/// Rows whose features are computed together.
pub(super) const BLOCK: usize = 2048;
/// Bytes of features that are kept between evaluations; what does not fit is computed again.
const KEPT_BYTES: usize = 1 << 30;
const STOP: Stop = Stop { tolerance: 3e-4, iterations: 200 };
/// Solutions that are only compared with each other need not be as close.
const ROUGHLY: Stop = Stop { tolerance: 1e-3, iterations: 60 };

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

/// Looks at the weights for a strength of the prior, and says whether to go on.
pub(crate) type Judge<'a> = dyn FnMut(f64, &[f64]) -> Result<ControlFlow<()>> + 'a;

/// The solution: weights `[features, outputs]`, row by row, and what was found on the way.
pub(crate) struct OutputSolution {
    pub weights: Vec<f64>,
    /// The learned log noise variance, for likelihoods with one.
    pub log_noise: Option<f64>,
    /// `sum phi phi^T`.
    pub gram: Precision,
    pub convergence: Convergence,
}

pub(super) struct Block {
    pub features: Tensor<2>,
    pub targets: TargetBatch,
    pub rows: usize,
}

/// What is computed of the rows once, whatever the prior.
struct FeatureRows {
    /// All rows; the beginning is a fair sample of them.
    order: Vec<usize>,
    /// The features of the first ones.
    kept: Vec<Block>,
    gram: Precision,
}

impl<B: Backbone> OutputProblem<'_, B> {
    /// Solves it, from weights `[features, outputs]` that are close already where there are some.
    pub fn solve(
        &self,
        start: Option<Vec<f64>>,
        observer: &mut dyn Observer,
    ) -> Result<OutputSolution> {
        check_strength(self.l2)?;
        let rows = self.first_pass()?;
        if let Likelihood::Gaussian(gaussian) = self.likelihood {
            let moment = self.moment(&rows)?;
            return least_squares::solve(rows.gram, &moment, self.l2, gaussian);
        }
        observer.start(1, STOP.iterations);
        let solution = self.iterate(&rows, self.l2, start, STOP, observer);
        observer.finish();
        let (weights, convergence) = solution?;
        Ok(OutputSolution { weights, log_noise: None, gram: rows.gram, convergence })
    }

    /// Rough solutions for several strengths of the prior, each started at the one before, until
    /// `found` has seen enough. The features are computed once for all of them.
    pub fn path(&self, strengths: &[f64], found: &mut Judge<'_>) -> Result<()> {
        strengths.iter().try_for_each(|&l2| check_strength(l2))?;
        let rows = self.first_pass()?;
        let mut start = None;
        for &l2 in strengths {
            let (weights, _) = self.iterate(&rows, l2, start, ROUGHLY, &mut Silent)?;
            if found(l2, &weights)?.is_break() {
                break;
            }
            start = Some(weights);
        }
        Ok(())
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
    pub(super) fn features(&self) -> usize {
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
    fn first_pass(&self) -> Result<FeatureRows> {
        let kept_rows = (KEPT_BYTES / (4 * self.features())).max(BLOCK);
        let order = self.order(kept_rows);
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
        Ok(FeatureRows { order, kept, gram })
    }

    /// Calls `work` with every block, the kept ones first.
    pub(super) fn each(
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
    fn moment(&self, rows: &FeatureRows) -> Result<least_squares::Moment> {
        let mut moment = least_squares::Moment::new(self.features());
        self.each(&rows.order, &rows.kept, |block| {
            let (features, targets) = (block.features.clone(), block.targets.numbers());
            moment.add(host::matrix(features).view(), &host::vector(targets));
            Ok(())
        })?;
        Ok(moment)
    }

    fn iterate(
        &self,
        FeatureRows { order, kept, gram }: &FeatureRows,
        l2: f64,
        start: Option<Vec<f64>>,
        stop: Stop,
        observer: &mut dyn Observer,
    ) -> Result<(Vec<f64>, Convergence)> {
        // About the mean curvature p (1 - p) of a logit near the solution, where most examples are
        // classified with certainty and count little. The iteration corrects its scale.
        let curvature = 0.03 / self.outputs as f64;
        let mut objective = Objective {
            problem: self,
            order,
            kept,
            l2,
            blocks: 1,
            inverse: self.on_device(&gram.finish(l2 / curvature)?),
            evaluations: 0,
            observer,
            most: stop.iterations,
        };
        let start = match start {
            Some(start) => start,
            None => objective.start(gram)?,
        };
        objective.blocks = objective.kept.len();
        let mut minimum = minimize(&mut objective, start, stop)?;
        let all = order.len().div_ceil(BLOCK);
        if objective.blocks < all {
            // The solution of the kept sample is close: a few passes over all rows remain.
            objective.blocks = all;
            let sampled = minimum.iterations;
            minimum = minimize(&mut objective, minimum.point, stop)?;
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
    pub(super) fn on_device(&self, covariance: &Covariance) -> Tensor<2> {
        let transposed = covariance.to_device(self.device).squeeze_dim::<2>(0);
        transposed.clone().matmul(transposed.transpose())
    }

    /// `S v` for `v [features, outputs]`, row by row. Single precision: it only has to point
    /// downhill.
    pub(super) fn product(&self, matrix: &Tensor<2>, values: &[f64]) -> Vec<f64> {
        host::vector(matrix.clone().matmul(self.weights(values)))
    }

    /// Values `[features, outputs]`, row by row, on the device.
    pub fn weights(&self, values: &[f64]) -> Tensor<2> {
        let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let shape = [self.features(), self.outputs];
        Tensor::from_data(TensorData::new(values, shape), self.device)
    }
}

fn check_strength(l2: f64) -> Result<()> {
    if l2.is_finite() && l2 > 0.0 {
        return Ok(());
    }
    let rule = "it must be positive for the output layer to have one best solution";
    Err(Error::config("l2", l2, rule))
}
