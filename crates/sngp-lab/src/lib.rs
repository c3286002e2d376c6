//! The laboratory of sngp: data sets, experiments, evaluation and figures.
//!
//! - [`dataset`]: the data sets, one file and one line each;
//! - [`corruption`]: images made worse, in eighteen ways and five severities;
//! - [`plane`]: the two-dimensional benchmark;
//! - [`mod@bench`]: what benchmarks that train networks share;
//! - [`language`]: intent classification with out-of-scope sentences;
//! - [`vision`]: image classification with corrupted and foreign images;
//! - [`own`]: people's own data, from a file to a model that abstains;
//! - [`records`]: tables and arrays, read and written in pieces;
//! - [`evidence`]: the report of an evaluation, one page that opens anywhere;
//! - [`experiment`]: experiments as TOML files;
//! - [`published`]: the paper's figures, to be shown beside ours;
//! - [`report`]: one shape of result for every benchmark;
//! - [`figure`]: figures as SVG and PNG without any system font.
#![warn(missing_docs)]

pub mod bench;
pub mod corruption;
pub mod dataset;
pub mod evidence;
pub mod experiment;
pub mod figure;
pub mod language;
pub mod own;
pub mod plane;
pub mod provenance;
pub mod published;
pub mod records;
pub mod report;
pub mod vision;
