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
        self.remember(normalized.mean, normalized.variance);
        normalized.output
    }

    /// A training pass without the cut-off, where something is added first.
    ///
    /// # Shapes
    /// - input and output: `[batch, height, width, channels]`
    pub(super) fn train_linear(&self, input: Tensor<4>) -> Tensor<4> {
        let dims = input.dims();
        let channels = dims[3];
        let count = dims[..3].iter().product::<usize>();
        let rows = input.reshape([count, channels]);
        let mean = rows.clone().mean_dim(0);
        let centred = rows - mean.clone();
        let variance = centred.clone().square().mean_dim(0);
        let scale =
            self.norm.gamma.val().unsqueeze() / (variance.clone() + self.norm.epsilon).sqrt();
        let output = centred * scale + self.norm.beta.val().unsqueeze();
        let unbiased = count as f64 / (count.max(2) - 1) as f64;
        let plain = |tensor: Tensor<2>| tensor.detach().inner().reshape([channels]);
        self.remember(plain(mean), plain(variance) * unbiased);
        output.reshape(dims)
    }

    /// Moves the running averages towards a batch's own mean and variance.
    fn remember(&self, mean: Tensor<1>, variance: Tensor<1>) {
        let kept = 1.0 - self.norm.momentum;
        for (running, new) in [(&self.norm.running_mean, mean), (&self.norm.running_var, variance)]
        {
            let old = running.value();
            let new = if old.is_autodiff() { Tensor::autodiff(new) } else { new };
            running.update(old * kept + new * self.norm.momentum);
            // At once, so that a copy or a checkpoint made after this step has it.
            running.value_sync();
        }
    }

    /// What it multiplies by and adds outside of training.
    pub(super) fn scale_and_shift(&self) -> (Tensor<1>, Tensor<1>) {
        let deviation = (self.norm.running_var.value() + self.norm.epsilon).sqrt();
        let scale = self.norm.gamma.val() / deviation;
        let shift = self.norm.beta.val() - self.norm.running_mean.value() * scale.clone();
        (scale, shift)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{TensorData, activation};

    use super::*;

    fn input(device: &Device) -> Tensor<4> {
        let values: Vec<f32> = (0..2 * 3 * 3 * 5).map(|i| (i as f32 * 0.7).sin() + 0.3).collect();
        Tensor::from_data(TensorData::new(values, [2, 3, 3, 5]), device)
    }

    /// Without the cut-off it is the same layer: output, gradient and running averages.
    #[test]
    fn the_linear_form_is_the_same_before_the_cut_off() {
        let device = Device::flex().autodiff();
        let run = |linear: bool| {
            let layer = BatchNorm::new(5, &device);
            let input = input(&device).require_grad();
            let pass = Pass::train(1);
            let output = match linear {
                true => activation::relu(layer.train_linear(input.clone())),
                false => layer.forward(input.clone(), &pass),
            };
            let gradients = (output.clone() * output.clone()).sum().backward();
            let gradient = input.grad(&gradients).unwrap();
            let averages = [&layer.norm.running_mean, &layer.norm.running_var];
            let averages = averages.map(|state| state.value_sync().into_data());
            let [mean, variance] = averages;
            [output.into_data(), gradient.into_data(), mean, variance]
        };
        for (linear, fused) in run(true).iter().zip(run(false)) {
            let pairs = linear.iter::<f32>().zip(fused.iter::<f32>());
            for (linear, fused) in pairs {
                assert!((linear - fused).abs() < 1e-5, "{linear} and {fused}");
            }
        }
    }
}
