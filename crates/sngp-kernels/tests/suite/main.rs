//! Every kernel against the same in Burn's own ops: values, gradients, odd shapes.

mod attention;
mod common;
mod convolution;
mod dense;
mod normalization;
mod optimizer;
mod other_types;
mod pool;
mod posterior;
mod random_features;
mod threads;
