//! Tensors of Burn's CPU backend as plain slices, and back.

use std::ops::Deref;

use burn::tensor::{Bytes, DType, Shape};
use burn_flex::{FlexTensor, Layout};

/// A contiguous f32 tensor, to be read as a slice.
#[derive(Clone, Debug)]
pub(crate) struct Array(FlexTensor);

impl Array {
    /// Copies only what is not contiguous yet.
    pub fn new(tensor: FlexTensor) -> Self {
        match tensor.as_slice::<f32>() {
            Some(_) => Self(tensor),
            None => Self(tensor.to_contiguous()),
        }
    }

    /// The sizes of its dimensions.
    pub fn shape(&self) -> &Shape {
        self.0.layout().shape()
    }

    /// Its last dimension; the product of the others.
    pub fn rows_and_width(&self) -> (usize, usize) {
        let width = self.shape().as_slice().last().copied().unwrap_or(1);
        (self.len().checked_div(width).unwrap_or(0), width)
    }

    pub fn tensor(&self) -> &FlexTensor {
        &self.0
    }
}

impl Deref for Array {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        self.0.as_slice().expect("a contiguous f32 tensor")
    }
}

/// A tensor of values.
pub(crate) fn tensor(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    let shape = shape.into();
    debug_assert_eq!(values.len(), shape.num_elements());
    FlexTensor::new(Bytes::from_elems(values), Layout::contiguous(shape), DType::F32)
}

/// A buffer for a kernel that writes every element: zeroing large ones first costs as much as
/// many kernels themselves.
pub(crate) fn uninitialized(len: usize) -> Vec<f32> {
    let mut values = Vec::with_capacity(len);
    // SAFETY: the capacity is there, every bit pattern is an f32, and all kernels write an
    // element before they read it.
    #[allow(clippy::uninit_vec, reason = "see above")]
    unsafe {
        values.set_len(len);
    }
    values
}
