//! One file a command.

pub mod bench_2d;
pub mod bench_clinc;
pub mod demo;
pub mod inspect;
pub mod list;
pub mod predict;
