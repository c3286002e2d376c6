//! The objective over all rows, block by block.

use burn::tensor::Tensor;

use super::lbfgs::Function;
use super::problem::{BLOCK, Block, OutputProblem};
use crate::backbone::Backbone;
use crate::nn::Activation;
use crate::posterior::Precision;
use crate::train::{EpochSummary, Observer, check_interrupted};
use crate::{Result, host};

/// The loss of the first blocks, which stand for all.
pub(super) struct Objective<'a, B: Backbone> {
    pub problem: &'a OutputProblem<'a, B>,
    pub order: &'a [usize],
    pub kept: &'a [Block],
    /// Strength of the prior.
    pub l2: f64,
    pub blocks: usize,
    /// `S` with `S / l2 ~ H^-1`.
    pub inverse: Tensor<2>,
    pub evaluations: usize,
    pub observer: &'a mut dyn Observer,
    /// The most iterations there will be.
    pub most: usize,
}

impl<B: Backbone> Objective<'_, B> {
    fn rows(&self) -> usize {
        (self.blocks * BLOCK).min(self.order.len())
    }

    /// The direction of regularized least squares on the classes (the gradient at zero is their
    /// moment), at the length that fits the first block best.
    pub fn start(&mut self, gram: &Precision) -> Result<Vec<f64>> {
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
        problem.each(&self.order[..rows], self.kept, |block| {
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
            *sum = *sum * share + self.l2 * value;
        }
        Ok((loss * share + 0.5 * self.l2 * squares, gradient))
    }

    fn precondition(&self, gradient: &[f64]) -> Vec<f64> {
        let mut product = self.problem.product(&self.inverse, gradient);
        product.iter_mut().for_each(|value| *value /= self.l2);
        product
    }

    fn progress(&mut self, iteration: usize, value: f64) {
        self.observer.epoch(EpochSummary {
            epoch: iteration,
            epochs: self.most,
            loss: value / self.problem.data.rows() as f64,
            validation_loss: None,
        });
    }
}
