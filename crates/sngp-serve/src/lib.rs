//! The place of the model server (Open Inference Protocol), which comes later.
//!
//! It will stand on [`sngp`] alone: a model folder goes in, predictions with their uncertainty
//! come out. Nothing is built here yet.
#![warn(missing_docs)]
