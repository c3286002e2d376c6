//! Convolutions of channels-last images and their gradients.

mod choice;
pub mod direct;
pub mod direct_gradients;
mod epilogue;
mod filters;
mod gather;
mod shape;
#[cfg(test)]
mod tests;
mod tiles;
mod transforms;
pub mod winograd;
pub mod winograd_gradient;

pub use choice::{Method, PreparedGradient, PreparedWeight, weight_gradient};
pub use epilogue::Epilogue;
pub use filters::Tile;
pub use shape::ConvShape;
