//! The kernels as operations on tensors, each beside the same in Burn's own ops.

mod activate;
mod attention;
mod batch_norm;
mod convolution;
mod gradient;
mod layer_norm;
mod linear;
mod nearest;
mod optimizer;
mod pool;
mod posterior;
mod random_features;
mod softmax;

pub use activate::activate;
pub use attention::{AttentionOptions, attention, attention_reference};
pub use batch_norm::{Normalized, batch_norm_relu, batch_norm_relu_reference, scale_shift_relu};
pub use convolution::{
    Geometry, convolution, convolution_folded, convolution_reference, convolution_transposed,
};
pub use gradient::{scaled, sum_of_squares};
pub use layer_norm::{layer_norm, layer_norm_reference};
pub use linear::{linear, linear_reference};
pub use nearest::Nearest;
pub use optimizer::{AdamWStep, SgdStep};
pub use pool::{max_pool, max_pool_reference, mean_pool};
pub use posterior::{rank_update, variance, variance_reference};
pub use random_features::{random_features, random_features_reference};
pub use softmax::{log_softmax, softmax};
