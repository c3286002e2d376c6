//! Blurs of lenses and movement.

mod defocus;
mod gaussian;
mod glass;
mod motion;
mod zoom;

pub(super) use defocus::Defocus;
pub(super) use gaussian::Gaussian;
pub(super) use glass::Glass;
pub(super) use motion::{Motion, streak};
pub(super) use zoom::Zoom;
