//! CPU kernels of sngp.
//!
//! Every operation the library wants faster than Burn's own is one function on tensors here. On
//! Burn's CPU backend it runs a fused, vectorised, threaded kernel behind Burn's backend
//! extension, with its own backward; on any other device, in any other type than f32, or where a
//! gradient is asked for that the kernel does not give, it is Burn's own ops. The tests run both
//! and compare. What depends on Burn's internals, and all `unsafe`, stays in this crate.
//!
//! Results do not depend on the number of threads: work is cut into pieces of a fixed size.
#![warn(missing_docs)]

#[cfg(feature = "allocator")]
pub mod allocator;

mod activation;
mod array;
mod attention;
mod conv;
mod device;
mod elementary;
mod gemm;
mod lanes;
mod normalization;
mod op;
mod ops;
mod parallel;
mod pool;
mod prepared;
mod reduce;
mod scratch;
mod simd;
mod softmax;
mod trigonometry;

pub use activation::Activation;
pub use ops::*;
pub use prepared::Prepared;
