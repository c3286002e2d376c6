//! Uncertainty scores: one number a row, higher means less certain.
//!
//! A score is one file here and one line in [`Score`].

mod combined;
mod dempster_shafer;
mod density;
mod energy;
mod entropy;
mod generalized_entropy;
mod kernel_distance;
mod knn;
mod mahalanobis;
mod margin;
mod max_probability;
mod relative_mahalanobis;
mod variance;
mod vim;

pub use combined::Combined;
pub use dempster_shafer::DempsterShafer;
pub use density::Density;
pub use energy::Energy;
pub use entropy::Entropy;
pub use generalized_entropy::Gen;
pub use kernel_distance::KernelDistance;
pub use knn::Knn;
pub use mahalanobis::Mahalanobis;
pub use margin::Margin;
pub use max_probability::MaxProbability;
pub use relative_mahalanobis::RelativeMahalanobis;
pub use variance::Variance;
pub use vim::Vim;

use crate::Result;
use crate::predict::Prediction;

/// What a score provides.
pub trait ScoreFunction {
    /// One line for listings.
    fn summary(&self) -> &'static str;

    /// The uncertainty of every row.
    fn evaluate(&self, prediction: &Prediction) -> Result<Vec<f64>>;
}

crate::registry! {
    /// The uncertainty scores, one line each.
    pub enum Score as "score": ScoreFunction {
        "combined" => Combined(Combined),
        "variance" => Variance(Variance),
        "dempster_shafer" => DempsterShafer(DempsterShafer),
        "max_probability" => MaxProbability(MaxProbability),
        "entropy" => Entropy(Entropy),
        "energy" => Energy(Energy),
        "margin" => Margin(Margin),
        "kernel_distance" => KernelDistance(KernelDistance),
        "gen" => Gen(Gen),
        "mahalanobis" => Mahalanobis(Mahalanobis),
        "relative_mahalanobis" => RelativeMahalanobis(RelativeMahalanobis),
        "density" => Density(Density),
        "knn" => Knn(Knn),
        "vim" => Vim(Vim),
    }
}
