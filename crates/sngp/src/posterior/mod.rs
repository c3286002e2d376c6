//! The Laplace posterior of the output layer.
//!
//! `P_k = sum_i w_ik phi_i phi_i^T` is accumulated in f64 ([`Precision`]), the ridge `s` is added
//! once at the end, and `S_k = s (s I + P_k)^-1` is kept as a triangular factor
//! ([`Covariance`]), from which the variance `v_k(x) = phi^T S_k phi` is read off: near `phi . phi`
//! far from the data, near zero where there is plenty of it.

mod accumulation;
mod covariance;
mod curvature;
mod file;
mod health;
mod laplace;
mod precision;

pub use accumulation::{Accumulation, PosteriorConfig};
pub use covariance::Covariance;
pub use curvature::Curvature;
pub use file::{load_precisions, precisions_from_bytes, precisions_to_bytes, save_precisions};
pub use health::Health;
pub use laplace::Laplace;
pub use precision::{FeatureMapHash, FeatureValue, Precision};

use burn::tensor::{Device, Tensor};
use sngp_kernels::Prepared;

/// A finished posterior on a device: the sum it came from and the factors that predict.
#[derive(Clone, Debug)]
pub struct Posterior {
    precision: Precision,
    ridge: f64,
    factors: Tensor<3>,
    prepared: Prepared,
}

impl Posterior {
    /// Adds the ridge, factorizes in f64 and casts only the finished factors down.
    pub fn finish(precision: Precision, ridge: f64, device: &Device) -> crate::Result<Self> {
        let factors = precision.finish(ridge)?.to_device(device);
        Ok(Self::restore(precision, ridge, factors))
    }

    /// A saved posterior, with the factors it was saved with.
    pub(crate) fn restore(precision: Precision, ridge: f64, factors: Tensor<3>) -> Self {
        Self { precision, ridge, factors, prepared: Prepared::default() }
    }

    /// Variances `[rows, matrices]` of features `[rows, D]`.
    pub fn variance(&self, features: &Tensor<2>) -> Tensor<2> {
        sngp_kernels::variance(features.clone(), self.factors.clone(), &self.prepared)
    }

    /// The same posterior for a feature map of another name but the same features.
    pub(crate) fn with_hash(self, hash: FeatureMapHash) -> Self {
        Self { precision: self.precision.with_hash(hash), ..self }
    }

    /// The accumulated precision, kept for merging and updating.
    pub fn precision(&self) -> &Precision {
        &self.precision
    }

    /// The ridge it was finished with.
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// The factors `[matrices, D, D]`.
    pub(crate) fn factors(&self) -> &Tensor<3> {
        &self.factors
    }
}
