//! What a network takes in one forward pass.

use burn::tensor::{Gradients, Tensor};

/// A batch of inputs on a device.
///
/// DUQ's penalty moves inputs along their own gradient and the exact GP needs plain vectors, so
/// a batch can be tracked, shifted and flattened. Tensors of any rank `[rows, ..]` are batches.
pub trait Batch: Clone + Send + 'static {
    /// How many rows it has.
    fn rows(&self) -> usize;

    /// The same batch with gradients tracked through its continuous part.
    fn track(self) -> Self;

    /// The gradient with respect to the continuous part, `[rows, n]`.
    fn gradient(&self, gradients: &Gradients) -> Option<Tensor<2>>;

    /// The batch moved by `delta [rows, n]`.
    fn shift(&self, delta: Tensor<2>) -> Self;

    /// The inputs as plain vectors `[rows, n]`, where that makes sense.
    fn flatten(&self) -> Option<Tensor<2>>;
}

impl<const D: usize> Batch for Tensor<D> {
    fn rows(&self) -> usize {
        self.dims()[0]
    }

    fn track(self) -> Self {
        self.detach().require_grad()
    }

    fn gradient(&self, gradients: &Gradients) -> Option<Tensor<2>> {
        self.grad(gradients).map(flat)
    }

    fn shift(&self, delta: Tensor<2>) -> Self {
        self.clone().detach() + delta.reshape(self.dims())
    }

    fn flatten(&self) -> Option<Tensor<2>> {
        Some(flat(self.clone()))
    }
}

fn flat<const D: usize>(tensor: Tensor<D>) -> Tensor<2> {
    let rows = tensor.dims()[0];
    let columns = tensor.dims()[1..].iter().product::<usize>();
    tensor.reshape([rows, columns])
}
