//! Dropout that can be left on at prediction time.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};

use crate::pass::{Mode, Pass};
use crate::seed::Rng;

/// Zeroes each unit with probability `rate` and scales the others by `1 / (1 - rate)`.
///
/// Burn's own dropout does nothing away from an autodiff device, so multi-pass methods would not
/// sample at all. This one follows the [`Pass`]: a fresh mask a row in training, one mask for the
/// whole batch in a sampled pass (one thinned network a pass), nothing in evaluation.
#[derive(Module, Debug)]
pub struct Dropout {
    rate: f64,
}

impl Dropout {
    /// Dropout with the given rate in `[0, 1)`.
    pub fn new(rate: f64) -> Self {
        Self { rate }
    }

    /// Whether it does anything in a pass; where not, layers around it can be fused.
    pub fn is_active(&self, pass: &Pass) -> bool {
        self.rate > 0.0 && pass.mode() != Mode::Evaluate
    }

    /// Applies the layer.
    ///
    /// # Shapes
    /// - input and output: `[rows, ..]`
    pub fn forward<const D: usize>(&self, input: Tensor<D>, pass: &mut Pass) -> Tensor<D> {
        match self.mask(input.dims(), &input.device(), pass) {
            Some(mask) => input * mask,
            None => input,
        }
    }

    /// The factors of a pass, 0 or `1 / (1 - rate)`; `None` where it does nothing. In a sampled
    /// pass the first dimension is one.
    pub fn mask<const D: usize>(
        &self,
        shape: [usize; D],
        device: &Device,
        pass: &mut Pass,
    ) -> Option<Tensor<D>> {
        if !self.is_active(pass) {
            return None;
        }
        let sampled = pass.mode() == Mode::Sample;
        let noise = pass.noise()?;
        let keep = (1.0 / (1.0 - self.rate)) as f32;
        // Comparing raw 32-bit draws is exact and several times cheaper than drawing floats.
        let threshold = (self.rate * f64::from(u32::MAX)) as u32;
        let draw = |rng: &mut Rng| if rng.random::<u32>() < threshold { 0.0 } else { keep };
        if !sampled {
            let mask = (0..shape.iter().product()).map(|_| draw(noise)).collect::<Vec<f32>>();
            return Some(Tensor::from_data(TensorData::new(mask, shape), device));
        }
        let mut shape = shape;
        shape[0] = 1;
        let mut mask = Vec::with_capacity(shape.iter().product());
        let layer = Rng::seed_from_u64(noise.random());
        for index in line_indices(&shape[..D - 1]) {
            let mut line = layer.clone();
            line.set_stream(index);
            mask.extend((0..shape[D - 1]).map(|_| draw(&mut line)));
        }
        Some(Tensor::from_data(TensorData::new(mask, shape), device))
    }
}

/// A number for every line along the last axis that depends on its place alone, not on the sizes
/// of the axes: the thinned network is the same for short and long sentences.
fn line_indices(axes: &[usize]) -> Vec<u64> {
    axes.iter().fold(vec![0], |lines, &size| {
        let extended = |line: u64| (0..size as u64).map(move |place| (line << 20) | place);
        lines.into_iter().flat_map(extended).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(pass: &mut Pass) -> Vec<f32> {
        let input = Tensor::<2>::ones([50, 40], &Device::flex());
        Dropout::new(0.25).forward(input, pass).into_data().try_to_vec().unwrap()
    }

    #[test]
    fn evaluation_changes_nothing() {
        assert!(apply(&mut Pass::evaluate()).iter().all(|&v| v == 1.0));
    }

    #[test]
    fn training_drops_the_given_share_and_keeps_the_mean() {
        let values = apply(&mut Pass::train(3));
        let dropped = values.iter().filter(|&&v| v == 0.0).count() as f64 / 2000.0;
        let mean = values.iter().sum::<f32>() / 2000.0;
        assert!((dropped - 0.25).abs() < 0.05, "{dropped}");
        assert!((mean - 1.0).abs() < 0.07, "{mean}");
    }

    #[test]
    fn a_sampled_network_does_not_depend_on_how_much_is_padded() {
        let mask = |tokens| -> Vec<f32> {
            let shape = [3, 2, tokens, tokens];
            let mask = Dropout::new(0.5).mask(shape, &Device::flex(), &mut Pass::sample(4, 0));
            let top = mask.unwrap().slice([0..1, 0..2, 0..4, 0..4]);
            top.into_data().try_to_vec().unwrap()
        };
        assert_eq!(mask(4), mask(9));
    }

    #[test]
    fn a_sampled_pass_uses_one_mask_for_every_row_and_repeats() {
        let values = apply(&mut Pass::sample(9, 0));
        assert!(values.chunks(40).all(|row| row == &values[..40]));
        assert!(values.contains(&0.0));
        assert_eq!(values, apply(&mut Pass::sample(9, 0)));
        assert_ne!(values, apply(&mut Pass::sample(9, 1)));
    }
}
