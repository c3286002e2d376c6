//! Spectral normalization: what keeps the hidden mapping distance-preserving.
//!
//! A residual network `x + g_l(x)` is bi-Lipschitz when every `g_l` is `a`-Lipschitz with `a < 1`.
//! After each optimiser step one warm-started power iteration estimates the norm `s` of every
//! normalized layer's *real* linear operator, and a weight with `s > c` is scaled by `c / s`. It
//! is a projection of the stored weight: no gradient flows through `s`, and evaluation changes
//! nothing. [`SpectralReport`] tells afterwards what norms the layers really have.

mod layer;
mod normalization;
mod operator;
mod report;

pub use layer::{SpectralLayer, SpectralLayers};
pub use normalization::{SpectralConfig, SpectralNormalization};
pub use operator::Operator;
pub use report::{LayerNorm, Lipschitz, SpectralReport, Stage, singular_values};
