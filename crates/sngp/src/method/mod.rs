//! The methods of the comparison, composed from parts.
//!
//! A method is a [`Recipe`]: spectral normalization or not, which head, how many networks, how
//! many passes. Each is one file here and one line in [`Method`]; none has a network of its own.

mod deep_ensemble;
mod deterministic;
mod dnn_gp;
mod dnn_sn;
mod duq;
mod exact_gp;
mod mc_dropout;
mod mcd_gp;
mod sngp;
mod sngp_ensemble;

pub use deep_ensemble::DeepEnsemble;
pub use deterministic::Deterministic;
pub use dnn_gp::DnnGp;
pub use dnn_sn::DnnSn;
pub use duq::Duq;
pub use exact_gp::ExactGp;
pub use mc_dropout::McDropout;
pub use mcd_gp::McdGp;
pub use sngp::Sngp;
pub use sngp_ensemble::SngpEnsemble;

use crate::score::Score;

/// Which output a method has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A dense layer.
    Dense,
    /// The random-feature Gaussian process.
    GaussianProcess,
    /// DUQ's RBF centroids.
    RbfCentroids,
    /// No network at all: an exact Gaussian process on the inputs.
    ExactGaussianProcess,
}

/// What a method is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Whether the backbone's layers are spectrally normalized.
    pub spectral: bool,
    /// The output.
    pub output: Output,
    /// How many networks are trained.
    pub members: usize,
    /// How many passes a network makes for a prediction; more than one leaves dropout on.
    pub passes: usize,
    /// The score that classifiers are uncertain by where none is asked for.
    pub score: Score,
}

/// What a method provides.
pub trait MethodRecipe {
    /// One line for listings.
    fn summary(&self) -> &'static str;

    /// Its parts.
    fn recipe(&self) -> Recipe;
}

crate::registry! {
    /// The methods, one line each.
    pub enum Method as "method": MethodRecipe {
        "deterministic" => Deterministic(Deterministic),
        "mc_dropout" => McDropout(McDropout),
        "deep_ensemble" => DeepEnsemble(DeepEnsemble),
        "mcd_gp" => McdGp(McdGp),
        "duq" => Duq(Duq),
        "dnn_sn" => DnnSn(DnnSn),
        "dnn_gp" => DnnGp(DnnGp),
        "sngp" => Sngp(Sngp),
        "exact_gp" => ExactGp(ExactGp),
        "sngp_ensemble" => SngpEnsemble(SngpEnsemble),
    }
}

impl Default for Method {
    fn default() -> Self {
        Self::Sngp(Sngp {})
    }
}
