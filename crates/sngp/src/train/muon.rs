//! Muon: steps whose directions all have one length.

use burn::optim::{LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};

use super::optimizer::{Sgd, SgdState};

/// Steps of the iteration that makes a matrix orthogonal. After three most singular values are between
/// 0.5 and 1.2, which is near enough.
const ITERATIONS: usize = 3;

/// The polynomial of the iteration: its slope at zero is as steep as it can be while everything up to
/// one stays near one (Jordan et al., 2024).
const POLYNOMIAL: [f64; 3] = [3.4445, -4.7750, 2.0315];

/// Muon for kernels of convolutions, and what it holds for everything else.
#[derive(Clone, Debug)]
pub(super) struct Muon {
    pub(super) others: Sgd,
}

impl Optimizer for Muon {
    type State<const D: usize> = SgdState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<SgdState<D>>,
    ) -> (Tensor<D>, Option<SgdState<D>>) {
        if D != 4 {
            return self.others.step(rate, parameter, gradient, state);
        }
        let momentum = self.others.momentum;
        let velocity = match state {
            Some(state) => state.velocity * momentum + gradient.clone(),
            None => gradient.clone(),
        };
        let shape = parameter.dims();
        let filters = shape[0];
        let step = gradient + velocity.clone() * momentum;
        let step = orthogonal(step.reshape([filters as i32, -1])).reshape(shape);
        // At a length of its own a kernel neither outgrows its steps nor needs weight decay. One of
        // zeros stays one.
        let length = parameter.clone().square().sum().sqrt().clamp_min(1e-12);
        let factor = length.recip() * (filters as f64).sqrt();
        let parameter = parameter * factor.unsqueeze() - step * rate;
        (parameter, Some(SgdState { velocity }))
    }

    fn to_device<const D: usize>(state: SgdState<D>, device: &Device) -> SgdState<D> {
        Sgd::to_device(state, device)
    }
}

/// Brings all singular values of a matrix near to one (a Newton-Schulz iteration).
fn orthogonal(matrix: Tensor<2>) -> Tensor<2> {
    let [rows, columns] = matrix.dims();
    let length = matrix.clone().square().sum().sqrt() + 1e-7;
    let mut x = matrix / length.unsqueeze();
    let tall = rows > columns;
    if tall {
        x = x.transpose();
    }
    let [a, b, c] = POLYNOMIAL;
    for _ in 0..ITERATIONS {
        let square = x.clone().matmul(x.clone().transpose());
        let mix = square.clone() * b + square.clone().matmul(square) * c;
        x = x.clone() * a + mix.matmul(x);
    }
    if tall { x.transpose() } else { x }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::train;

    fn waves(shape: [usize; 2]) -> Tensor<2> {
        let values: Vec<f32> =
            (0..shape[0] * shape[1]).map(|i| ((i * i) as f32 * 0.37).sin()).collect();
        Tensor::from_data(TensorData::new(values, shape), &Device::flex())
    }

    /// The same, with rows of unlike lengths.
    fn stretched(shape: [usize; 2]) -> Tensor<2> {
        let lengths: Vec<f32> = (0..shape[0]).map(|row| 1.0 / (1 + row) as f32).collect();
        waves(shape) * Tensor::from_data(TensorData::new(lengths, [shape[0], 1]), &Device::flex())
    }

    fn singular_values(matrix: Tensor<2>) -> Vec<f64> {
        let [rows, columns] = matrix.dims();
        let values = crate::host::vector(matrix);
        faer::Mat::from_fn(rows, columns, |i, j| values[i * columns + j]).singular_values().unwrap()
    }

    #[test]
    fn a_step_is_as_long_in_every_direction() {
        for shape in [[4, 9], [16, 16], [9, 4], [8, 54]] {
            let before = singular_values(stretched(shape));
            let after = singular_values(orthogonal(stretched(shape)));
            assert!(before[0] > 2.0 * before.last().unwrap(), "{shape:?}: {before:?}");
            assert!(after.iter().all(|value| (0.2..1.3).contains(value)), "{shape:?}: {after:?}");
        }
        // Nothing to follow is no step, not one that is no number.
        let still = orthogonal(Tensor::zeros([3, 5], &Device::flex()));
        assert_eq!(still.into_data(), Tensor::<2>::zeros([3, 5], &Device::flex()).into_data());
    }

    #[test]
    fn a_kernel_of_zeros_stays_finite() {
        let zeros = Tensor::<4>::zeros([64, 2, 3, 3], &Device::flex());
        let optimizer = Muon { others: Sgd::new(0.6, 0.0) };
        let (moved, _) = optimizer.step(0.1, zeros.clone(), zeros.clone(), None);
        assert_eq!(moved.into_data(), zeros.into_data());
    }

    #[test]
    fn kernels_keep_their_length_and_the_rest_is_sgd() {
        let device = Device::flex();
        let optimizer = Muon { others: Sgd::new(0.6, 0.0) };
        let kernel = waves([4, 18]).reshape([4, 2, 3, 3]);
        let (moved, state) = optimizer.step(0.0, kernel.clone(), kernel.clone(), None);
        let length = moved.clone().square().sum().sqrt().into_scalar::<f32>();
        assert!((length - 2.0).abs() < 1e-5, "{length}");
        let (next, _) = optimizer.step(0.1, moved.clone(), kernel.clone(), state);
        // Down the gradient, by less than a rate's worth of every direction.
        let (way, norm) = ((next - moved), 0.1 * 2.0 * 1.3);
        assert!((way.clone() * kernel).sum().into_scalar::<f32>() < 0.0);
        assert!(way.square().sum().sqrt().into_scalar::<f32>() < norm);

        let (row, gradient) = (waves([1, 6]).reshape([6]), Tensor::<1>::ones([6], &device));
        let (ours, _) = optimizer.step(0.1, row.clone(), gradient.clone(), None);
        let (sgd, _) = Sgd::new(0.6, 0.0).step(0.1, row, gradient, None);
        assert_eq!(ours.into_data(), sgd.into_data());
        assert!(!train::Optimizer::Muon { momentum: 0.6 }.init(0.0).has_gradient_clipping());
    }
}
