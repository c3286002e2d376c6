//! What processing does to pictures.

mod contrast;
mod dct;
mod elastic;
mod jpeg;
mod pixelate;
mod saturate;

pub(super) use contrast::Contrast;
pub(super) use elastic::Elastic;
pub(super) use jpeg::Jpeg;
pub(super) use pixelate::Pixelate;
pub(super) use saturate::Saturate;
