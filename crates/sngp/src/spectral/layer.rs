//! The layers a backbone offers for normalization.

use burn::module::ParamId;
use burn::nn::Linear;
use burn::nn::conv::Conv2d;
use burn::tensor::Tensor;

use super::{Operator, singular_values};

/// Iterations that bring an estimate to rest; it stops earlier when it has.
const CONVERGED: usize = 2000;

/// A network that says which of its layers are to be normalized: all that spectral normalization
/// needs to know of it.
pub trait SpectralLayers {
    /// The layers whose spectral norm is bounded, always in the same order; the residual ones, as
    /// a rule. Without any, methods with spectral normalization refuse the network.
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        Vec::new()
    }
}

/// A named layer of a network, borrowed for normalization.
#[derive(Debug)]
pub struct SpectralLayer<'a> {
    name: String,
    weight: Weight<'a>,
}

#[derive(Debug)]
enum Weight<'a> {
    Dense(&'a mut Linear),
    Convolution(&'a mut Conv2d, [usize; 2]),
}

impl<'a> SpectralLayer<'a> {
    /// A dense layer.
    pub fn dense(name: impl Into<String>, layer: &'a mut Linear) -> Self {
        Self { name: name.into(), weight: Weight::Dense(layer) }
    }

    /// A convolution that sees inputs of `input = [height, width]`.
    pub fn convolution(name: impl Into<String>, layer: &'a mut Conv2d, input: [usize; 2]) -> Self {
        Self { name: name.into(), weight: Weight::Convolution(layer, input) }
    }

    /// Its name, the path inside the backbone.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a convolution; those have a bound of their own.
    pub fn is_convolution(&self) -> bool {
        matches!(self.weight, Weight::Convolution(..))
    }

    /// Its linear map.
    pub fn operator(&self) -> Operator {
        match &self.weight {
            Weight::Dense(layer) => Operator::dense(layer),
            Weight::Convolution(layer, input) => Operator::convolution(layer, *input),
        }
    }

    /// The parameter that is normalized.
    pub fn weight_id(&self) -> ParamId {
        match &self.weight {
            Weight::Dense(layer) => layer.weight.id,
            Weight::Convolution(layer, _) => layer.weight.id,
        }
    }

    /// One projection: `iterations` power iterations from `u`, and the weight scaled to norm
    /// `bound` if it has more. Gives the new `u`, to go on from next time.
    pub fn project(self, u: Tensor<1>, bound: f64, iterations: usize) -> Tensor<1> {
        let (u, norm) = self.operator().power_iteration(u, iterations);
        // min(1, c / s): exactly one where the bound holds, so the weight is left alone.
        self.scale((norm.recip() * bound).clamp_max(1.0));
        u
    }

    /// The converged norm: by SVD for a dense layer, by power iteration for a convolution.
    pub fn converged_norm(&self) -> f64 {
        match &self.weight {
            Weight::Dense(layer) => singular_values(layer).first().copied().unwrap_or(0.0),
            Weight::Convolution(..) => self.operator().norm(CONVERGED),
        }
    }

    /// Multiplies the weight by a factor given as a one-element tensor.
    fn scale(self, factor: Tensor<1>) {
        match self.weight {
            Weight::Dense(layer) => {
                layer.weight = layer.weight.clone().map(|w| scaled(w, factor));
            }
            Weight::Convolution(layer, _) => {
                layer.weight = layer.weight.clone().map(|w| scaled(w, factor));
            }
        }
    }
}

/// The weight times the factor as a new leaf: no gradient flows through the projection.
fn scaled<const D: usize>(weight: Tensor<D>, factor: Tensor<1>) -> Tensor<D> {
    let (autodiff, require_grad) = (weight.is_autodiff(), weight.is_require_grad());
    let scaled = weight.inner() * factor.unsqueeze();
    if autodiff { scaled.autodiff().set_require_grad(require_grad) } else { scaled }
}
