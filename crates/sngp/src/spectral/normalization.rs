//! The projection made after each optimiser step.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::{Operator, SpectralLayer, SpectralLayers};
use crate::nn::frozen;
use crate::{Error, Result};

/// Bounds and effort of spectral normalization.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpectralConfig {
    /// Norm bound `c` of dense layers.
    pub dense_bound: f64,
    /// Norm bound `c` of convolutions.
    pub convolution_bound: f64,
    /// Power iterations after each optimiser step.
    pub iterations: usize,
    /// Power iterations before the first step, so that the first estimate is already right. The
    /// top singular values of a fresh random weight lie close together: 50 iterations can be
    /// 3 % off at width 64.
    pub warm_up: usize,
    /// Whether the norm of a convolution counts the scale of the batch normalization right after
    /// it. Without it the bound is the weight's alone, as in the paper, and the normalization can
    /// stretch what the bound had shrunk; with it the two together are bounded, by the scale. A
    /// normalization *before* a convolution (Wide ResNet's) is counted in neither.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub count_batch_norm: bool,
}

impl Default for SpectralConfig {
    fn default() -> Self {
        Self {
            dense_bound: 0.95,
            convolution_bound: 6.0,
            iterations: 1,
            warm_up: 200,
            count_batch_norm: false,
        }
    }
}

impl SpectralConfig {
    fn check(&self) -> Result<()> {
        for (what, bound) in
            [("dense_bound", self.dense_bound), ("convolution_bound", self.convolution_bound)]
        {
            if !(bound.is_finite() && bound > 0.0) {
                return Err(Error::config(what, bound, "it must be positive and finite"));
            }
        }
        if self.iterations == 0 {
            return Err(Error::config("spectral iterations", 0, "at least one is needed"));
        }
        if self.warm_up < 15 {
            let rule = "15 or more are needed for a first estimate right to 1 %";
            return Err(Error::config("spectral warm_up", self.warm_up, rule));
        }
        Ok(())
    }

    /// The layers of a network as their norms are bounded: with the scale of the normalization after
    /// them, or without.
    pub fn layers<'a>(&self, network: &'a mut impl SpectralLayers) -> Vec<SpectralLayer<'a>> {
        let layers = network.spectral_layers();
        match self.count_batch_norm {
            true => layers,
            false => layers.into_iter().map(SpectralLayer::without_norm).collect(),
        }
    }

    /// The bound that applies to a layer.
    pub fn bound(&self, layer: &SpectralLayer<'_>) -> f64 {
        if layer.is_convolution() { self.convolution_bound } else { self.dense_bound }
    }
}

/// The persisted state of spectral normalization: one vector `u` a layer, in the order of
/// [`SpectralLayers::spectral_layers`].
///
/// In a training loop of your own: `start` before the first step, `project` after each.
///
/// ```
/// use burn::module::Module;
/// use burn::nn::{Linear, LinearConfig};
/// use burn::tensor::Device;
/// use sngp::spectral::{SpectralConfig, SpectralLayer, SpectralLayers, SpectralNormalization};
///
/// #[derive(Module, Debug)]
/// struct Network {
///     block: Linear,
/// }
///
/// impl SpectralLayers for Network {
///     fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
///         vec![SpectralLayer::dense("block", &mut self.block)]
///     }
/// }
///
/// let mut network = Network { block: LinearConfig::new(8, 8).init(&Device::flex()) };
/// let bounds = SpectralConfig { dense_bound: 0.5, ..Default::default() };
/// let mut normalization = SpectralNormalization::start(&bounds, &mut network, 0)?;
/// normalization.project(&mut network); // after `network = optimizer.step(..)`
/// assert!(network.spectral_layers()[0].converged_norm() < 0.51);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct SpectralNormalization {
    vectors: Vec<Param<Tensor<1>>>,
    #[module(skip)]
    config: SpectralConfig,
}

impl SpectralNormalization {
    /// Warms up the vectors of a network and brings its weights within their bounds.
    pub fn start(
        config: &SpectralConfig,
        network: &mut impl SpectralLayers,
        seed: u64,
    ) -> Result<Self> {
        config.check()?;
        let layers = config.layers(network);
        if layers.is_empty() {
            let message = "the network offers no layer for spectral normalization; implement \
                           SpectralLayers::spectral_layers or choose a method without it";
            return Err(Error::Unsupported(message.to_string()));
        }
        let operators: Vec<Operator> = layers.iter().map(SpectralLayer::operator).collect();
        drop(layers);
        let vectors = operators
            .iter()
            .enumerate()
            .map(|(index, operator)| {
                let start = operator.start(seed, index as u64);
                frozen(operator.power_iteration(start, config.warm_up).0)
            })
            .collect();
        let mut state = Self { vectors, config: config.clone() };
        state.project(network);
        Ok(state)
    }

    /// The shape of the state, to be filled from a file.
    pub(crate) fn blank(config: &SpectralConfig, network: &mut impl SpectralLayers) -> Self {
        let layers = config.layers(network);
        let zeros = layers.iter().map(|layer| layer.operator().zeros());
        Self { vectors: zeros.map(frozen).collect(), config: config.clone() }
    }

    /// One projection: refreshes every `u` and scales each weight whose norm exceeds its bound.
    pub fn project(&mut self, network: &mut impl SpectralLayers) {
        for (vector, layer) in self.vectors.iter_mut().zip(self.config.layers(network)) {
            let bound = self.config.bound(&layer);
            let autodiff = vector.val().is_autodiff();
            let u = layer.project(vector.val().inner(), bound, self.config.iterations);
            *vector = vector.clone().map(|_| if autodiff { u.autodiff() } else { u });
        }
    }

    /// The bounds.
    pub fn config(&self) -> &SpectralConfig {
        &self.config
    }
}
