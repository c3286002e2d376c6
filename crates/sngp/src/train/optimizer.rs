//! Burn's optimisers under our options.

use burn::module::{ModuleVisitor, Param, ParamId};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer, SgdConfig};
use burn::tensor::Tensor;

use super::config::Optimizer;

pub(super) fn init(optimizer: &Optimizer, weight_decay: f64) -> ModuleOptimizer {
    match optimizer {
        Optimizer::AdamW => {
            AdamWConfig::new().with_epsilon(1e-8).with_weight_decay(weight_decay as f32).init()
        }
        Optimizer::Sgd { momentum } => SgdConfig::new()
            .with_weight_decay(
                (weight_decay > 0.0).then(|| WeightDecayConfig::new(weight_decay as f32)),
            )
            .with_momentum((*momentum > 0.0).then(|| {
                MomentumConfig::new()
                    .with_momentum(*momentum)
                    .with_dampening(0.0)
                    .with_nesterov(true)
            }))
            .init(),
    }
}

/// The squared norm of all gradients and who has one, in the module's own order, so that the sum
/// does not depend on a hash map's.
struct Norm<'a> {
    grads: &'a GradientsParams,
    squared: f64,
}

impl ModuleVisitor for Norm<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(grad) = self.grads.get::<D>(param.id) {
            self.squared += f64::from(grad.square().sum().into_scalar::<f32>());
        }
    }
}

struct Scale<'a> {
    grads: &'a mut GradientsParams,
    factor: f64,
}

impl Scale<'_> {
    fn scale<const D: usize>(&mut self, id: ParamId) {
        if let Some(grad) = self.grads.remove::<D>(id) {
            self.grads.register(id, grad * self.factor);
        }
    }
}

impl ModuleVisitor for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.scale::<D>(param.id);
    }
}

/// Multiplies every gradient of a module.
pub(super) fn scale(module: &impl burn::module::Module, grads: &mut GradientsParams, factor: f64) {
    if factor != 1.0 {
        module.visit(&mut Scale { grads, factor });
    }
}

/// Scales all gradients so that their joint norm is at most `limit`.
pub(super) fn clip(module: &impl burn::module::Module, grads: &mut GradientsParams, limit: f64) {
    let mut norm = Norm { grads, squared: 0.0 };
    module.visit(&mut norm);
    let norm = norm.squared.sqrt();
    if norm > limit {
        scale(module, grads, limit / norm);
    }
}
