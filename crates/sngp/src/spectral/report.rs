//! What norms a trained network really has.

use burn::module::{ModuleVisitor, Param, ParamId};
use burn::nn::Linear;
use burn::tensor::Tensor;
use serde::Serialize;

use super::SpectralConfig;
use crate::backbone::Backbone;
use crate::module_path::ModulePath;

/// The converged norm of one normalized layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerNorm {
    /// Path inside the backbone.
    pub name: String,
    /// Converged spectral norm of its operator.
    pub norm: f64,
    /// Its bound `c`.
    pub bound: f64,
}

impl LayerNorm {
    /// Whether the bound holds, with `slack` as a factor, e.g. 1.05.
    pub fn holds(&self, slack: f64) -> bool {
        self.norm <= slack * self.bound
    }

    /// Whether the norm reaches its bound, with the same slack: only there does a bound do anything.
    pub fn is_bounded(&self, slack: f64) -> bool {
        self.norm * slack >= self.bound
    }
}

/// Certified constants `lower ||x - x'|| <= ||h(x) - h(x')|| <= upper ||x - x'||`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lipschitz {
    /// The lower constant; zero where none can be certified.
    pub lower: f64,
    /// The upper constant.
    pub upper: f64,
}

/// One step of a backbone, as far as its Lipschitz constants are concerned.
#[derive(Clone, Debug)]
pub enum Stage {
    /// A dense layer applied to everything before it.
    Dense {
        /// Smallest singular value, zero when it maps to fewer dimensions.
        smallest: f64,
        /// Largest singular value.
        largest: f64,
    },
    /// `x + g(x)`, where `g` is 1-Lipschitz activations around the named normalized layer.
    Residual {
        /// The normalized layer.
        layer: String,
    },
}

impl Stage {
    /// A dense layer applied to everything before it.
    pub fn dense(layer: &Linear) -> Self {
        let [inputs, outputs] = layer.weight.dims();
        let values = singular_values(layer);
        let smallest = if outputs < inputs { 0.0 } else { *values.last().unwrap_or(&0.0) };
        Self::Dense { smallest, largest: *values.first().unwrap_or(&0.0) }
    }

    /// A residual block around a normalized layer.
    pub fn residual(layer: impl Into<String>) -> Self {
        Self::Residual { layer: layer.into() }
    }
}

/// The singular values of a dense layer in f64, largest first.
pub fn singular_values(layer: &Linear) -> Vec<f64> {
    let [inputs, outputs] = layer.weight.dims();
    let values = crate::host::vector(layer.weight.val());
    let matrix = faer::Mat::from_fn(inputs, outputs, |i, j| values[i * outputs + j]);
    // An SVD fails to converge only on non-finite weights, where no norm can be given.
    matrix.singular_values().unwrap_or_else(|_| vec![f64::NAN])
}

/// The report on a backbone's spectral norms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpectralReport {
    /// Every normalized layer.
    pub layers: Vec<LayerNorm>,
    /// Weights of the backbone that no bound covers.
    pub uncovered: Vec<String>,
    /// The bi-Lipschitz constants, where every stage can be certified.
    pub lipschitz: Option<Lipschitz>,
}

impl SpectralReport {
    /// Measures a backbone. Nothing in it is changed.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use sngp::backbone::{Backbone, ResFfn, ResFfnConfig};
    /// use sngp::spectral::{SpectralConfig, SpectralNormalization, SpectralReport};
    ///
    /// let config = ResFfnConfig { depth: 2, width: 8, ..Default::default() };
    /// let mut network = ResFfn::build(&config, &Device::flex())?;
    /// let bounds = SpectralConfig { dense_bound: 0.5, ..Default::default() };
    /// SpectralNormalization::start(&bounds, &mut network, 0)?;
    /// let report = SpectralReport::measure(&network, &bounds);
    /// assert!(report.layers.iter().all(|layer| layer.holds(1.01) && layer.is_bounded(1.01)));
    /// assert_eq!(report.uncovered, ["lift.weight"]);
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn measure<B: Backbone>(backbone: &B, config: &SpectralConfig) -> Self {
        let mut copy = backbone.clone();
        let (mut layers, mut covered) = (Vec::new(), Vec::new());
        for layer in config.layers(&mut copy) {
            covered.extend(layer.parameters());
            layers.push(LayerNorm {
                name: layer.name().to_string(),
                norm: layer.converged_norm(),
                bound: config.bound(&layer),
            });
        }
        let mut weights = WeightNames { covered, ..Default::default() };
        backbone.visit(&mut weights);
        let lipschitz = certify(&backbone.stages(), &layers);
        Self { layers, uncovered: weights.uncovered, lipschitz }
    }

    /// The largest ratio of norm to bound; one or less where every bound holds.
    pub fn worst_ratio(&self) -> f64 {
        self.layers.iter().map(|layer| layer.norm / layer.bound).fold(0.0, f64::max)
    }
}

fn certify(stages: &[Stage], layers: &[LayerNorm]) -> Option<Lipschitz> {
    if stages.is_empty() {
        return None;
    }
    stages.iter().try_fold(Lipschitz { lower: 1.0, upper: 1.0 }, |total, stage| {
        let (lower, upper) = match stage {
            Stage::Dense { smallest, largest } => (*smallest, *largest),
            Stage::Residual { layer } => {
                let norm = layers.iter().find(|entry| &entry.name == layer)?.norm;
                ((1.0 - norm).max(0.0), 1.0 + norm)
            }
        };
        Some(Lipschitz { lower: total.lower * lower, upper: total.upper * upper })
    })
}

/// Collects the paths of weight matrices and kernels that no bound covers.
#[derive(Default)]
struct WeightNames {
    path: ModulePath,
    covered: Vec<ParamId>,
    uncovered: Vec<String>,
}

impl ModuleVisitor for WeightNames {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _: &str, container: &str) {
        self.path.exit(container);
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        // Matrices and kernels, and the scales of normalization layers.
        let stretches = D >= 2 || self.path.last() == Some("gamma");
        if stretches && !self.covered.contains(&param.id) {
            self.uncovered.push(self.path.joined());
        }
    }
}
