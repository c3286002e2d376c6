//! What a training step minimises.

use burn::tensor::Tensor;

use super::loader::Example;
use crate::Pass;
use crate::backbone::{Backbone, Batch};
use crate::data::TargetBatch;
use crate::likelihood::Likelihood;
use crate::network::Network;
use crate::nn::{Head, HeadOutput, RbfCentroidsConfig};

/// The loss of a network and how it is put together.
#[derive(Clone, Debug)]
pub(super) struct Objective {
    pub likelihood: Likelihood,
    /// Weight of `||beta||^2 / 2` beside the mean loss: `l2 / N`.
    pub prior_weight: f64,
    /// DUQ's options.
    pub centroids: RbfCentroidsConfig,
}

impl Objective {
    /// The loss of a training step, and the output it was computed from.
    pub fn training_loss<B: Backbone>(
        &self,
        network: &Network<B>,
        example: &Example<B::Batch>,
    ) -> (Tensor<1>, HeadOutput) {
        let output = network.forward(example.inputs.clone(), &mut Pass::train(example.seed));
        let loss = self.loss(network, &output, &example.targets);
        let loss = match &network.head {
            Head::GaussianProcess(gp) => loss + gp.prior_penalty() * self.prior_weight,
            Head::RbfCentroids(_) if self.centroids.gradient_penalty > 0.0 => {
                loss + self.gradient_penalty(network, example) * self.centroids.gradient_penalty
            }
            Head::Dense(_) | Head::RbfCentroids(_) => loss,
        };
        (loss, output)
    }

    /// The mean loss without penalties, also of validation data.
    pub fn loss<B: Backbone>(
        &self,
        network: &Network<B>,
        output: &HeadOutput,
        targets: &TargetBatch,
    ) -> Tensor<1> {
        match &network.head {
            Head::RbfCentroids(_) => one_against_rest(output.logits.clone(), targets),
            _ => {
                let log_noise = network.log_noise.as_ref().map(|noise| noise.val());
                self.likelihood.loss(output.logits.clone(), targets, log_noise)
            }
        }
    }

    /// `mean (||grad_x F||^2 - 1)^2` with `F = sum_c K_c`, by first-order differentiation only.
    ///
    /// With `q = grad_x F` held fixed and `q^ = q / ||q||`, the central difference
    /// `(F(x + e q^) - F(x - e q^)) / (2 e)` equals `||grad_x F||` to `O(e^2)`, and so does its
    /// derivative with respect to the weights, because `q^ . d q^ = 0`.
    fn gradient_penalty<B: Backbone>(
        &self,
        network: &Network<B>,
        example: &Example<B::Batch>,
    ) -> Tensor<1> {
        // The same seed each time: all evaluations see the same dropout mask.
        let kernel_sum = |batch: B::Batch| {
            network.forward(batch, &mut Pass::train(example.seed)).logits.exp().sum_dim(1)
        };
        let inputs = example.inputs.clone().track();
        let gradients = kernel_sum(inputs.clone()).sum().backward();
        let Some(direction) = inputs.gradient(&gradients) else {
            return Tensor::zeros([1], &example.targets.numbers().device());
        };
        let step = self.centroids.penalty_step;
        let length = direction.clone().square().sum_dim(1).sqrt().clamp_min(1e-12);
        let shift = Tensor::autodiff(direction / length * step);
        let ahead = kernel_sum(inputs.shift(shift.clone()));
        let behind = kernel_sum(inputs.shift(-shift));
        let norm = (ahead - behind) / (2.0 * step);
        (norm.square() - 1.0).square().mean()
    }
}

/// Binary cross-entropy of every class's kernel against membership, from `ln K_c`.
fn one_against_rest(log_kernel: Tensor<2>, targets: &TargetBatch) -> Tensor<1> {
    let classes = log_kernel.dims()[1];
    let labels = match targets {
        TargetBatch::Classes(labels) => labels.clone(),
        TargetBatch::Values(values) => values.clone().int(),
    };
    let member = labels.one_hot::<2>(classes).float();
    // ln K itself needs no clamp: far from its centroid a member is pulled by a plain quadratic.
    // ln(1 - K) is kept finite where another class's example sits on a centroid.
    let outside = (-log_kernel.clone().exp() + 1.0).clamp_min(1e-6).log();
    (member.clone() * log_kernel + (-member + 1.0) * outside).mean().neg()
}
