//! The integration tests as one program: Burn is heavy to link, so it is done once.

mod bad_data;
mod both_paths;
mod common;
mod convex;
mod detectors;
mod dropout_sampling;
mod golden_duq;
mod golden_exact_gp;
mod golden_gp;
mod golden_metrics;
mod golden_spectral;
mod method_contract;
mod model_directory;
mod posterior_against_exact_gp;
mod properties;
mod resume;
mod spectral_bounds;
mod text_encoders;
mod text_models;
mod training;
mod whitened_resnet;
mod wide_resnet;
