//! Noise of sensors: every value of every channel changes on its own.

mod gaussian;
mod impulse;
mod shot;
mod speckle;

pub(super) use gaussian::Gaussian;
pub(super) use impulse::Impulse;
pub(super) use shot::Shot;
pub(super) use speckle::Speckle;
