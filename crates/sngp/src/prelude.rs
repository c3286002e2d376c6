//! What most programs need.

pub use crate::backbone::{Backbone, ResFfn, ResFfnConfig};
pub use crate::data::{Inputs, Labelled, Table, Targets};
pub use crate::method::{Method, Sngp};
pub use crate::model::{Estimator, FitOptions, Model, ModelConfig};
pub use crate::nn::{GaussianProcess, GaussianProcessConfig, GpOutput};
pub use crate::posterior::{Curvature, Laplace, Posterior};
pub use crate::predict::{Integration, Prediction};
pub use crate::score::{Score, ScoreFunction, Variance};
pub use crate::spectral::{SpectralConfig, SpectralLayer, SpectralLayers, SpectralNormalization};
pub use crate::train::Optimizer;
