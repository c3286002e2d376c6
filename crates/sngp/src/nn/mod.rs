//! Layers: dropout that can sample, frozen random features, and the three output heads.

mod dense;
mod dropout;
mod features;
mod gaussian_process;
mod head;
mod rbf_centroids;

pub use dense::linear;
pub use dropout::Dropout;
pub use features::{FeatureKind, RandomFeatures, RandomFeaturesConfig};
pub(crate) use features::{check_length_scale, frozen};
pub use gaussian_process::{GaussianProcess, GaussianProcessConfig, GpOutput};
pub use head::{Head, HeadConfig, HeadOutput};
pub(crate) use rbf_centroids::CentroidUpdate;
pub use rbf_centroids::{RbfCentroids, RbfCentroidsConfig};
