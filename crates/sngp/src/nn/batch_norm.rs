//! Batch normalization of channels-last images, followed by a ReLU.

use burn::module::Module;
use burn::nn::{self, BatchNormConfig};
use burn::tensor::{Device, Tensor};

use crate::pass::{Mode, Pass};

/// `relu(gamma * (x - mean) / sqrt(variance + epsilon) + beta)` of every channel.
///
/// A training pass normalizes by the batch's own statistics and keeps a running average of them;
/// every other pass uses that average.
#[derive(Module, Debug)]
pub struct BatchNorm {
    /// The parameters and the running averages.
    pub norm: nn::BatchNorm,
}

impl BatchNorm {
    /// A layer that starts with scale one and shift zero.
    pub fn new(channels: usize, device: &Device) -> Self {
        Self { norm: BatchNormConfig::new(channels).init(device) }
    }

    /// Normalizes and cuts off at zero.
    ///
    /// # Shapes
    /// - input and output: `[batch, height, width, channels]`
    pub fn forward(&self, input: Tensor<4>, pass: &Pass) -> Tensor<4> {
        if pass.mode() != Mode::Train {
            let (scale, shift) = self.scale_and_shift();
            return sngp_kernels::scale_shift_relu(input, scale, shift);
        }
        let (gamma, beta) = (self.norm.gamma.val(), self.norm.beta.val());
        let normalized = sngp_kernels::batch_norm_relu(input, gamma, beta, self.norm.epsilon);
        let kept = 1.0 - self.norm.momentum;
        for (running, new) in [
            (&self.norm.running_mean, normalized.mean),
            (&self.norm.running_var, normalized.variance),
        ] {
            let old = running.value();
            let new = if old.is_autodiff() { Tensor::autodiff(new) } else { new };
            running.update(old * kept + new * self.norm.momentum);
            // At once, so that a copy or a checkpoint made after this step has it.
            running.value_sync();
        }
        normalized.output
    }

    /// What it multiplies by and adds outside of training.
    pub(super) fn scale_and_shift(&self) -> (Tensor<1>, Tensor<1>) {
        let deviation = (self.norm.running_var.value() + self.norm.epsilon).sqrt();
        let scale = self.norm.gamma.val() / deviation;
        let shift = self.norm.beta.val() - self.norm.running_mean.value() * scale.clone();
        (scale, shift)
    }
}
