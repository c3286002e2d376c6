//! Optimiser steps, one pass over a parameter each.

use burn::backend::Flex;
use burn::tensor::Tensor;
use burn_flex::FlexTensor;
use rayon::prelude::*;

use crate::array::Array;
use crate::device::takes;
use crate::simd::simd;

/// Elements of one piece of work. Fixed, so that the order of additions is.
pub(super) const PIECE: usize = 1 << 14;

/// One step of AdamW (Loshchilov and Hutter, 2019) on one parameter.
#[derive(Clone, Copy, Debug)]
pub struct AdamWStep {
    /// The learning rate.
    pub rate: f64,
    /// How much of the first and second moment is kept.
    pub betas: [f64; 2],
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// The decoupled weight decay.
    pub decay: f64,
    /// The number of this step, from 1.
    pub time: usize,
}

/// One step of SGD with Nesterov momentum on one parameter.
#[derive(Clone, Copy, Debug)]
pub struct SgdStep {
    /// The learning rate.
    pub rate: f64,
    /// How much of the velocity is kept; with 0 it is plain SGD.
    pub momentum: f64,
    /// Weight decay, added to the gradient.
    pub decay: f64,
}

/// The numbers of a step as the inner loop takes them.
#[derive(Clone, Copy)]
struct AdamWFactors {
    keep: [f32; 2],
    take: [f32; 2],
    shrink: f32,
    rate: f32,
    correction: f32,
    epsilon: f32,
}

impl AdamWStep {
    /// The new parameter, first and second moment, written over the old ones where no one else
    /// holds them.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sngp_kernels::AdamWStep;
    ///
    /// let device = Device::flex();
    /// let step = AdamWStep { rate: 0.1, betas: [0.9, 0.999], epsilon: 1e-8, decay: 0.0, time: 1 };
    /// let one = Tensor::<1>::ones([1], &device);
    /// let [parameter, ..] = step.apply(one.clone(), one.clone() * 5.0, one.zeros_like(), one.zeros_like());
    /// assert!((parameter.into_scalar::<f32>() - 0.9).abs() < 1e-6);
    /// ```
    pub fn apply<const D: usize>(
        &self,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        first: Tensor<D>,
        second: Tensor<D>,
    ) -> [Tensor<D>; 3] {
        match flex([parameter, gradient, first, second]) {
            Ok([parameter, gradient, first, second]) => {
                let factors = self.factors();
                let gradient = Array::new(gradient);
                let [mut parameter, mut first, mut second] = [parameter, first, second].map(whole);
                parameter
                    .storage_mut::<f32>()
                    .par_chunks_mut(PIECE)
                    .zip(gradient.par_chunks(PIECE))
                    .zip(first.storage_mut::<f32>().par_chunks_mut(PIECE))
                    .zip(second.storage_mut::<f32>().par_chunks_mut(PIECE))
                    .for_each(|(((p, g), m), v)| adamw_piece(p, g, m, v, factors));
                [parameter, first, second].map(Tensor::from_primitive::<Flex>)
            }
            Err([parameter, gradient, first, second]) => {
                self.reference(parameter, gradient, first, second)
            }
        }
    }

    /// The same in Burn's own ops, for every other device.
    pub fn reference<const D: usize>(
        &self,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        first: Tensor<D>,
        second: Tensor<D>,
    ) -> [Tensor<D>; 3] {
        let [beta_1, beta_2] = self.betas;
        let first = first * beta_1 + gradient.clone() * (1.0 - beta_1);
        let second = second * beta_2 + gradient.square() * (1.0 - beta_2);
        let [correction_1, correction_2] = self.corrections();
        let root = (second.clone() / correction_2).sqrt() + self.epsilon;
        let step = first.clone() / correction_1 / root;
        let parameter = parameter * (1.0 - self.rate * self.decay) - step * self.rate;
        [parameter, first, second]
    }

    /// How much of their final size the moments have after this many steps.
    fn corrections(&self) -> [f64; 2] {
        self.betas.map(|beta| 1.0 - beta.powi(self.time as i32))
    }

    fn factors(&self) -> AdamWFactors {
        let [correction_1, correction_2] = self.corrections();
        AdamWFactors {
            keep: self.betas.map(|beta| beta as f32),
            take: self.betas.map(|beta| (1.0 - beta) as f32),
            shrink: (1.0 - self.rate * self.decay) as f32,
            rate: (self.rate / correction_1) as f32,
            correction: (1.0 / correction_2) as f32,
            epsilon: self.epsilon as f32,
        }
    }
}

simd! {
    fn adamw_piece(p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32], f: AdamWFactors) {
        for (((p, g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
            *m = f.keep[0].mul_add(*m, f.take[0] * g);
            *v = f.keep[1].mul_add(*v, f.take[1] * g * g);
            let root = (*v * f.correction).sqrt() + f.epsilon;
            *p = f.shrink.mul_add(*p, -f.rate * *m / root);
        }
    }
}

impl SgdStep {
    /// The new parameter and velocity, written over the old ones where no one else holds them.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sngp_kernels::SgdStep;
    ///
    /// let one = Tensor::<1>::ones([1], &Device::flex());
    /// let step = SgdStep { rate: 0.1, momentum: 0.9, decay: 0.0 };
    /// let [parameter, velocity] = step.apply(one.clone(), one.clone(), one.zeros_like());
    /// assert!((parameter.into_scalar::<f32>() - 0.81).abs() < 1e-6);
    /// assert_eq!(velocity.into_scalar::<f32>(), 1.0);
    /// ```
    pub fn apply<const D: usize>(
        &self,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        velocity: Tensor<D>,
    ) -> [Tensor<D>; 2] {
        match flex([parameter, gradient, velocity]) {
            Ok([parameter, gradient, velocity]) => {
                let [rate, momentum, decay] =
                    [self.rate, self.momentum, self.decay].map(|factor| factor as f32);
                let gradient = Array::new(gradient);
                let [mut parameter, mut velocity] = [parameter, velocity].map(whole);
                parameter
                    .storage_mut::<f32>()
                    .par_chunks_mut(PIECE)
                    .zip(gradient.par_chunks(PIECE))
                    .zip(velocity.storage_mut::<f32>().par_chunks_mut(PIECE))
                    .for_each(|((p, g), v)| sgd_piece(p, g, v, rate, momentum, decay));
                [parameter, velocity].map(Tensor::from_primitive::<Flex>)
            }
            Err([parameter, gradient, velocity]) => self.reference(parameter, gradient, velocity),
        }
    }

    /// The same in Burn's own ops, for every other device.
    pub fn reference<const D: usize>(
        &self,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        velocity: Tensor<D>,
    ) -> [Tensor<D>; 2] {
        let gradient = gradient + parameter.clone() * self.decay;
        let velocity = velocity * self.momentum + gradient.clone();
        let step = velocity.clone() * self.momentum + gradient;
        [parameter - step * self.rate, velocity]
    }
}

simd! {
    fn sgd_piece(
        p: &mut [f32], g: &[f32], v: &mut [f32], rate: f32, momentum: f32, decay: f32,
    ) {
        for ((p, g), v) in p.iter_mut().zip(g).zip(v) {
            let gradient = decay.mul_add(*p, *g);
            *v = momentum.mul_add(*v, gradient);
            *p -= rate * momentum.mul_add(*v, gradient);
        }
    }
}

/// The tensors as the CPU backend's own, if the kernels take all of them.
pub(super) fn flex<const D: usize, const N: usize>(
    tensors: [Tensor<D>; N],
) -> Result<[FlexTensor; N], [Tensor<D>; N]> {
    let shape = tensors[0].dims();
    let taken =
        |tensor: &Tensor<D>| takes(tensor) && !tensor.is_autodiff() && tensor.dims() == shape;
    if !tensors.iter().all(taken) {
        return Err(tensors);
    }
    let primitive = |tensor: Tensor<D>| tensor.try_into_primitive::<Flex>();
    Ok(tensors.map(|tensor| primitive(tensor).expect("a tensor of the CPU backend")))
}

/// A tensor that is the whole of its buffer, so that the buffer can be written to as it is.
pub(super) fn whole(tensor: FlexTensor) -> FlexTensor {
    let covers = tensor.as_slice::<f32>().map(<[f32]>::len) == Some(tensor.storage::<f32>().len());
    if covers { tensor } else { tensor.to_contiguous() }
}
