//! Normalization over rows and over columns, on slices.

pub(crate) mod batch_norm;
mod layer_norm;
mod layer_norm_backward;

pub(crate) use layer_norm::layer_norm;
pub(crate) use layer_norm_backward::layer_norm_backward;
