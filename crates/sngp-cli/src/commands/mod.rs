//! One file a command.

mod bench;
pub mod bench_2d;
pub mod bench_cifar;
pub mod bench_clinc;
pub mod calibrate;
pub mod demo;
pub mod evaluate;
pub mod inspect;
pub mod list;
pub mod predict;
pub mod shards;
pub mod train;
pub mod tune;
pub mod update;
