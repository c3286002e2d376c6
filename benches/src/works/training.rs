//! A training step, as the library makes it.

use anyhow::Result;
use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::Tensor;

use super::Work;

/// Repeats forward pass, loss, backward pass and the optimiser's step on one batch.
pub fn steps<M: Module + 'static>(
    network: M,
    optimizer: ModuleOptimizer,
    loss: impl Fn(&M) -> Tensor<1> + 'static,
) -> Work {
    let (mut network, mut optimizer) = (Some(network), optimizer);
    Box::new(move || -> Result<()> {
        if let Some(current) = network.take() {
            let gradients = loss(&current).backward();
            let gradients = GradientsParams::from_grads(gradients, &current);
            network = Some(optimizer.step(1e-3, current, gradients));
        }
        Ok(())
    })
}
