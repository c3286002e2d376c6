//! The optimisers, and what is done to gradients before their step.

use burn::module::{ModuleVisitor, Param, ParamId};
use burn::optim::{
    AdamWState, AdaptiveMomentumState, GradientsParams, LearningRate, ModuleOptimizer, RecordState,
    StateSink, StateSource,
};
use burn::tensor::{Device, Tensor};
use sngp_kernels::{AdamWStep, SgdStep, scaled, sum_of_squares};

use super::config::Optimizer;
use super::muon::Muon;

impl Optimizer {
    /// The optimiser itself, for a training loop of one's own.
    ///
    /// ```
    /// use sngp::train::Optimizer;
    ///
    /// let optimizer = Optimizer::AdamW.init(0.01);
    /// assert!(!optimizer.has_gradient_clipping());
    /// ```
    pub fn init(&self, weight_decay: f64) -> ModuleOptimizer {
        match *self {
            Self::AdamW => AdamW { decay: weight_decay }.into(),
            Self::Sgd { momentum } => Sgd::new(momentum, weight_decay).into(),
            Self::Muon { momentum } => Muon { others: Sgd::new(momentum, weight_decay) }.into(),
        }
    }
}

/// AdamW in one pass over a parameter.
#[derive(Clone, Debug)]
struct AdamW {
    decay: f64,
}

impl burn::optim::Optimizer for AdamW {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamWState<D>>,
    ) -> (Tensor<D>, Option<AdamWState<D>>) {
        let state = state.map(|state| state.momentum);
        let state = state.unwrap_or_else(|| {
            AdaptiveMomentumState::new(0, gradient.zeros_like(), gradient.zeros_like())
        });
        let time = state.time + 1;
        let (betas, epsilon) = ([0.9, 0.999], 1e-8);
        // Biases and the scales of norms are not pulled to zero.
        let decay = if D > 1 { self.decay } else { 0.0 };
        let step = AdamWStep { rate, betas, epsilon, decay, time };
        let [parameter, first, second] =
            step.apply(parameter, gradient, state.moment_1, state.moment_2);
        let state = AdaptiveMomentumState::new(time, first, second);
        (parameter, Some(AdamWState::new(state)))
    }

    fn to_device<const D: usize>(state: AdamWState<D>, device: &Device) -> AdamWState<D> {
        AdamWState::new(state.momentum.to_device(device))
    }
}

/// SGD with Nesterov momentum in one pass over a parameter.
#[derive(Clone, Debug)]
pub(super) struct Sgd {
    pub(super) momentum: f64,
    decay: f64,
}

impl Sgd {
    pub(super) fn new(momentum: f64, decay: f64) -> Self {
        Self { momentum, decay }
    }
}

#[derive(Clone)]
pub(super) struct SgdState<const D: usize> {
    pub(super) velocity: Tensor<D>,
}

/// By hand, because Burn's derive works inside of Burn only.
impl<const D: usize> RecordState for SgdState<D> {
    fn state_flatten(&self, prefix: &str, out: &mut StateSink) {
        out.push_tensor(prefix, "velocity", self.velocity.to_data());
    }

    fn state_unflatten(prefix: &str, from: &mut StateSource, device: &Device) -> Option<Self> {
        let velocity = from.take_tensor(prefix, "velocity")?;
        Some(Self { velocity: Tensor::from_data(velocity, device) })
    }
}

impl burn::optim::Optimizer for Sgd {
    type State<const D: usize> = SgdState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<SgdState<D>>,
    ) -> (Tensor<D>, Option<SgdState<D>>) {
        let velocity = state.map_or_else(|| gradient.zeros_like(), |state| state.velocity);
        let step = SgdStep { rate, momentum: self.momentum, decay: self.decay };
        let [parameter, velocity] = step.apply(parameter, gradient, velocity);
        (parameter, Some(SgdState { velocity }))
    }

    fn to_device<const D: usize>(state: SgdState<D>, device: &Device) -> SgdState<D> {
        SgdState { velocity: state.velocity.to_device(device) }
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
            self.squared += sum_of_squares(grad);
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
            self.grads.register(id, scaled(grad, self.factor));
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
