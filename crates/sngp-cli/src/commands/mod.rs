//! One file a command.

pub mod bench_2d;
pub mod demo;
pub mod inspect;
pub mod list;
pub mod predict;
