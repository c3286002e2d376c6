//! Uncertainty scores: one number a row, higher means less certain.
//!
//! A score is one file here and one line in [`Score`].

mod dempster_shafer;
mod energy;
mod entropy;
mod kernel_distance;
mod margin;
mod max_probability;
mod variance;

pub use dempster_shafer::DempsterShafer;
pub use energy::Energy;
pub use entropy::Entropy;
pub use kernel_distance::KernelDistance;
pub use margin::Margin;
pub use max_probability::MaxProbability;
pub use variance::Variance;

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
        "variance" => Variance(Variance),
        "dempster_shafer" => DempsterShafer(DempsterShafer),
        "max_probability" => MaxProbability(MaxProbability),
        "entropy" => Entropy(Entropy),
        "energy" => Energy(Energy),
        "margin" => Margin(Margin),
        "kernel_distance" => KernelDistance(KernelDistance),
    }
}
