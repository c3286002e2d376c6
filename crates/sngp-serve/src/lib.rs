//! The place of the model server (Open Inference Protocol), which comes later.
//!
//! It will stand on [`sngp_pipeline`] alone: a model folder goes in, answers with their uncertainty
//! come out. Nothing is built here yet.
#![warn(missing_docs)]
