//! Images: classifiers that know what looks like nothing they have seen.
//!
//! [`VisionExperiment`] says what is trained on what, [`Setup::read`] reads it and makes networks for
//! it, and [`Bench::run`] trains what is missing, tunes it on held-out images and measures it on
//! clean, corrupted and foreign ones.

mod document;
mod evaluate;
mod experiment;
mod measured_on;
mod pretrained;
mod run;
mod setup;
mod shift;
mod source;
mod task;
#[cfg(test)]
mod tests;

pub use document::document;
pub use experiment::{
    BUILT_IN, ImageData, NetworkConfig, OodConfig, PretrainedConfig, PublishedNames, Trained,
    VisionExperiment,
};
pub use measured_on::MeasuredOn;
pub use run::{Bench, PLOTS};
pub use setup::Setup;
pub use shift::ShiftConfig;
pub use source::Source;
pub use task::VisionTask;
