//! Activations as operations on tensors.

use burn::tensor::{Tensor, activation};
use burn_flex::FlexTensor;

use crate::activation::Activation;
use crate::array::{Array, tensor, uninitialized};
use crate::device::takes;
use crate::op::{Kernel, apply_1};

/// Applies an activation to every element.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp_kernels::{Activation, activate};
///
/// let x = Tensor::<1>::from_floats([-1.0, 2.0], &Device::flex());
/// assert_eq!(activate(x, Activation::Relu).into_data(), [0.0f32, 2.0].into());
/// ```
pub fn activate<const D: usize>(input: Tensor<D>, activation: Activation) -> Tensor<D> {
    match takes(&input) {
        true => apply_1(activation, input),
        false => activation.reference(input),
    }
}

impl Activation {
    /// The same in Burn's own ops, for every other device.
    pub fn reference<const D: usize>(self, input: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Identity => input,
            Self::Relu => activation::relu(input),
            Self::Gelu => activation::gelu(input),
        }
    }

    /// Applies it in place, inside a loop that is compiled for the processor at hand.
    #[inline(always)]
    pub(crate) fn apply_all(self, values: &mut [f32]) {
        match self {
            Self::Identity => {}
            Self::Relu => values.iter_mut().for_each(|x| *x = Self::Relu.apply(*x)),
            Self::Gelu => values.iter_mut().for_each(|x| *x = Self::Gelu.apply(*x)),
        }
    }

    /// `gradient * f'(before)`, where `before` are the values it was applied to.
    pub(crate) fn gradient(self, before: &[f32], gradient: &[f32]) -> Vec<f32> {
        let mut out = uninitialized(gradient.len());
        self.backward(before, gradient, &mut out);
        out
    }
}

impl Kernel for Activation {
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let input = &inputs[0];
        let mut out = uninitialized(input.len());
        Activation::forward(*self, input, &mut out);
        let kept = if keep { vec![input.tensor().clone()] } else { Vec::new() };
        (tensor(out, input.shape().clone()), kept)
    }

    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        _wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        vec![Some(tensor(self.gradient(&kept[0], gradient), gradient.shape().clone()))]
    }
}
