//! The Python module `sngp._core`: what runs. What people read is in `python/sngp`.
//!
//! - `rows`: arrays, tables, texts and images of Python as a `Dataset`;
//! - `pipeline`: a `Pipeline` that is fitted, asked, calibrated, updated and saved;
//! - `prediction`: what a model predicts, as arrays;
//! - `measures`: scores, metrics and detectors as functions of arrays;
//! - `evidence`: an evaluation and its report;
//! - `head`: a head fitted by sums of rows that lie anywhere;
//! - `work`: computing while other threads of Python run, until Ctrl-C;
//! - `errors`: the exceptions.
//!
//! Nothing here decides anything: that is in `sngp-pipeline`.
// Keywords of Python's functions are arguments here.
#![allow(clippy::too_many_arguments)]

mod answers;
mod errors;
mod evidence;
mod head;
mod measures;
mod pipeline;
mod prediction;
mod rows;
mod work;

/// The compiled part of `sngp`.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::evidence::{Evidence, evaluate};
    #[pymodule_export]
    use super::head::{HeadPlan, merge_precisions, precision_matrix, precision_rows};
    #[pymodule_export]
    use super::measures::{
        Detectors, classification_metric, detection_metric, false_discovery, registry, score,
    };
    #[pymodule_export]
    use super::pipeline::Pipeline;
    #[pymodule_export]
    use super::prediction::Prediction;
    #[pymodule_export]
    use super::rows::Rows;

    #[allow(non_upper_case_globals)]
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
