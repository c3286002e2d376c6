//! The laboratory of sngp: data sets, experiments, evaluation and figures.
//!
//! - [`dataset`]: the data sets, one file and one line each;
//! - [`plane`]: the two-dimensional benchmark;
//! - [`language`]: intent classification with out-of-scope sentences;
//! - [`experiment`]: experiments as TOML files;
//! - [`published`]: the paper's figures, to be shown beside ours;
//! - [`report`]: one shape of result for every benchmark;
//! - [`figure`]: figures as SVG and PNG without any system font.
#![warn(missing_docs)]

pub mod dataset;
pub mod experiment;
pub mod figure;
pub mod language;
pub mod plane;
pub mod provenance;
pub mod published;
pub mod report;
