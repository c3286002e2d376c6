//! What most programs need.

pub use crate::backbone::{Backbone, ResFfn, ResFfnConfig};
pub use crate::data::{Inputs, Labelled, Table, Targets};
pub use crate::method::{Method, Sngp};
pub use crate::model::{Estimator, FitOptions, Model, ModelConfig};
pub use crate::posterior::Curvature;
pub use crate::predict::Prediction;
pub use crate::score::{Score, ScoreFunction, Variance};
