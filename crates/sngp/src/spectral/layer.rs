//! The layers a backbone offers for normalization.

use burn::module::{Param, ParamId};
use burn::nn::conv::Conv2d;
use burn::nn::{BatchNorm, Linear};
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
    /// With the size of its inputs, and the batch normalization right after it where that counts.
    Convolution(&'a mut Conv2d, [usize; 2], Option<&'a mut BatchNorm>),
}

impl<'a> SpectralLayer<'a> {
    /// A dense layer.
    pub fn dense(name: impl Into<String>, layer: &'a mut Linear) -> Self {
        Self { name: name.into(), weight: Weight::Dense(layer) }
    }

    /// A convolution that sees inputs of `input = [height, width]`.
    pub fn convolution(name: impl Into<String>, layer: &'a mut Conv2d, input: [usize; 2]) -> Self {
        Self { name: name.into(), weight: Weight::Convolution(layer, input, None) }
    }

    /// A convolution and the batch normalization right after it, whose scale counts where
    /// [`SpectralConfig::count_batch_norm`](super::SpectralConfig::count_batch_norm) says so.
    pub fn convolution_with_norm(
        name: impl Into<String>,
        layer: &'a mut Conv2d,
        norm: &'a mut BatchNorm,
        input: [usize; 2],
    ) -> Self {
        Self { name: name.into(), weight: Weight::Convolution(layer, input, Some(norm)) }
    }

    /// The same layer without the normalization after it.
    pub(super) fn without_norm(self) -> Self {
        let weight = match self.weight {
            Weight::Convolution(layer, input, _) => Weight::Convolution(layer, input, None),
            dense @ Weight::Dense(_) => dense,
        };
        Self { weight, ..self }
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
            Weight::Convolution(layer, input, Some(norm)) => {
                Operator::convolution_with_norm(layer, norm, *input)
            }
            Weight::Convolution(layer, input, None) => Operator::convolution(layer, *input),
        }
    }

    /// The parameters whose effect its norm is.
    pub fn parameters(&self) -> Vec<ParamId> {
        match &self.weight {
            Weight::Dense(layer) => vec![layer.weight.id],
            Weight::Convolution(layer, _, norm) => {
                let scale = norm.iter().map(|norm| norm.gamma.id);
                std::iter::once(layer.weight.id).chain(scale).collect()
            }
        }
    }

    /// One projection: `iterations` power iterations from `u`, and the layer scaled to norm
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

    /// Multiplies what the layer gives by a factor, a one-element tensor: its weight, or the scale and
    /// the shift of the normalization after it, which would undo a smaller weight.
    fn scale(self, factor: Tensor<1>) {
        match self.weight {
            Weight::Dense(layer) => shrink(&mut layer.weight, factor),
            Weight::Convolution(layer, _, None) => shrink(&mut layer.weight, factor),
            Weight::Convolution(_, _, Some(norm)) => {
                shrink(&mut norm.gamma, factor.clone());
                shrink(&mut norm.beta, factor);
            }
        }
    }
}

/// A parameter times the factor as a new leaf: no gradient flows through the projection.
fn shrink<const D: usize>(parameter: &mut Param<Tensor<D>>, factor: Tensor<1>) {
    *parameter = parameter.clone().map(|value| {
        let (autodiff, require_grad) = (value.is_autodiff(), value.is_require_grad());
        let scaled = value.inner() * factor.unsqueeze();
        if autodiff { scaled.autodiff().set_require_grad(require_grad) } else { scaled }
    });
}
