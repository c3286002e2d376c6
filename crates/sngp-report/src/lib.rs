//! What a model is worth, measured and shown.
//!
//! - [`evaluation`]: a [`Pipeline`](sngp_pipeline::Pipeline) measured on test, shifted and
//!   out-of-distribution rows, with the detectors it is to be compared with;
//! - [`evidence`]: the report of an evaluation, one page that opens anywhere;
//! - [`figure`]: figures as SVG and PNG without any system font.
#![warn(missing_docs)]

mod escape;
pub mod evaluation;
pub mod evidence;
pub mod figure;
