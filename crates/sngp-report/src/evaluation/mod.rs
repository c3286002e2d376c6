//! A pipeline, measured on rows that played no part in its training.
//!
//! A row is accepted as the pipeline itself accepts it: by its guard, its distance rule, nothing odd
//! about the input, and its threshold. Rows that cannot be used, and labels the model never saw, are
//! left out of the metrics and said in [`Evidence::warnings`](crate::evidence::Evidence::warnings).
//!
//! ```
//! use ndarray::Array2;
//! use sngp_pipeline::input::Dataset;
//! use sngp_pipeline::{Options, Pipeline};
//! use sngp_report::evaluation::{Evaluation, evaluate};
//!
//! let vectors = |start: usize| Array2::from_shape_fn((80, 3), |(i, j)| {
//!     ((start + i) % 2) as f32 + 0.2 * (((start + i) * (j + 3)) as f32).sin()
//! });
//! let labels: Vec<usize> = (0..80).map(|i| i % 2).collect();
//! let options = Options { features: 64, ..Default::default() };
//! let pipeline = Pipeline::fit_vectors(vectors(0).view(), &labels, &options)?;
//!
//! let test = Dataset::of_vectors(vectors(80).view())?.with_labels(&labels)?;
//! let far = Dataset::of_vectors((vectors(160) * 40.0 + 300.0).view())?;
//! let sets = Evaluation { ood: vec![("far".to_string(), &far)], ..Evaluation::on(&test) };
//! let evidence = evaluate(&pipeline, &sets)?;
//! assert_eq!(evidence.metrics[0].name, "accuracy");
//! let found = evidence.at_threshold();
//! assert_eq!((found.ood[0].name.as_str(), found.ood[0].rejected), ("far", 80));
//! # Ok::<(), sngp::Error>(())
//! ```

mod classes;
mod detection;
mod intervals;
mod measured;
mod metric_rows;
mod numbers;
mod sets;
mod showcase;
mod warnings;

pub use intervals::{Interval, intervals};
pub use sets::{Evaluation, UNKNOWN_LABELS};

use sngp::{Error, Result};
use sngp_pipeline::{Pipeline, Task};

use crate::evidence::Evidence;

/// Measures a model.
pub fn evaluate(model: &Pipeline, sets: &Evaluation<'_>) -> Result<Evidence> {
    sets.check()?;
    let mut evidence = Evidence::default();
    warnings::about_model(model, &mut evidence);
    if let Some(decision) = model.decision().filter(|_| !model.card().uncalibrated) {
        // An infinite threshold accepts whatever everything else admits, as none does.
        evidence.threshold = Some(decision.threshold).filter(|limit| *limit < f64::INFINITY);
        evidence.basis = Some(decision.basis.clone());
    }
    match &model.card().task {
        Task::Classification { .. } => classes::measure(model, sets, &mut evidence)?,
        Task::Regression { .. } => numbers::measure(model, sets, &mut evidence)?,
    }
    Ok(evidence)
}

/// Where nothing of a set is left to measure, with what is known of why.
fn nothing_left(file: &str, warnings: &[String]) -> Error {
    let why = warnings.first().map_or_else(String::new, |first| format!(" ({first})"));
    Error::Data(format!("{file}: no row of it can be used to measure the model{why}"))
}
