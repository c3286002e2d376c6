//! What kind of forward pass is being made, and where its noise comes from.

use crate::seed::{Purpose, Rng, stream};

/// One forward pass through a network.
///
/// Layers that behave differently in training and evaluation ask the pass, so nothing depends on
/// hidden module state and a sampled pass can be repeated exactly.
///
/// ```
/// use sngp::Pass;
///
/// assert!(Pass::evaluate().noise().is_none());
/// assert!(Pass::train(1).noise().is_some());
/// ```
#[derive(Debug)]
pub struct Pass {
    mode: Mode,
    noise: Option<Rng>,
}

/// How a pass treats noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Training: noise drawn anew for every row.
    Train,
    /// Evaluation: no noise at all.
    Evaluate,
    /// One network sampled from the noise: every row sees the same draw, so that a row's
    /// prediction does not depend on the batch it comes in.
    Sample,
}

impl Pass {
    /// A training pass whose noise is determined by `seed`.
    pub fn train(seed: u64) -> Self {
        Self { mode: Mode::Train, noise: Some(stream(seed, Purpose::Training, 0)) }
    }

    /// A deterministic pass.
    pub fn evaluate() -> Self {
        Self { mode: Mode::Evaluate, noise: None }
    }

    /// Pass number `index` of a multi-pass prediction.
    pub fn sample(seed: u64, index: u64) -> Self {
        Self { mode: Mode::Sample, noise: Some(stream(seed, Purpose::Sampling, index)) }
    }

    /// The kind of pass.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The generator for this pass's noise; `None` in evaluation.
    pub fn noise(&mut self) -> Option<&mut Rng> {
        self.noise.as_mut()
    }
}
