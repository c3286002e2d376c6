//! The laboratory of sngp: data sets, corruptions, benchmarks, published figures. Research only:
//! nothing of the product needs it.
//!
//! - [`dataset`]: the data sets, one file and one line each;
//! - [`corruption`]: images made worse, in eighteen ways and five severities;
//! - [`plane`]: the two-dimensional benchmark;
//! - [`mod@bench`]: what benchmarks that train networks share;
//! - [`language`]: intent classification with out-of-scope sentences;
//! - [`vision`]: image classification with corrupted and foreign images;
//! - [`experiment`]: experiments as TOML files;
//! - [`published`]: the paper's figures, to be shown beside ours;
//! - [`report`]: one shape of result for every benchmark.
#![warn(missing_docs)]

pub mod bench;
pub mod corruption;
pub mod dataset;
pub mod experiment;
pub mod language;
pub mod plane;
pub mod provenance;
pub mod published;
pub mod report;
pub mod vision;
