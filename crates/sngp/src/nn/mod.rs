//! Layers: the fused ones networks are made of, dropout that can sample, frozen random features,
//! and the three output heads.

mod batch_norm;
mod convolution;
mod dense;
mod dropout;
mod features;
mod gaussian_process;
mod head;
mod layer_norm;
mod rbf_centroids;
mod transformer;

pub use batch_norm::BatchNorm;
pub use convolution::Convolution;
pub use dense::{Dense, linear};
pub(crate) use dense::{dense, matrix};
pub use dropout::Dropout;
pub use features::{FeatureKind, RandomFeatures, RandomFeaturesConfig};
pub(crate) use features::{check_length_scale, frozen};
pub use gaussian_process::{GaussianProcess, GaussianProcessConfig, GpOutput};
pub use head::{Head, HeadConfig, HeadOutput};
pub use layer_norm::LayerNorm;
pub(crate) use rbf_centroids::CentroidUpdate;
pub use rbf_centroids::{RbfCentroids, RbfCentroidsConfig};
pub use sngp_kernels::Activation;
pub use transformer::{ScoreTerms, TransformerConfig, TransformerEncoder, TransformerLayer};
