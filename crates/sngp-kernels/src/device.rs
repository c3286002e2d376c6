//! Which tensors the kernels take.

use burn::backend::DispatchDevice;
use burn::tensor::{DType, Tensor};

/// Whether a tensor is on Burn's CPU backend and of the type the kernels are written for.
pub(crate) fn takes<const D: usize>(tensor: &Tensor<D>) -> bool {
    let device = tensor.device().without_autodiff();
    matches!(device.as_dispatch(), DispatchDevice::Flex(_)) && tensor.dtype() == DType::F32
}
