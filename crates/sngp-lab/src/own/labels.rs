//! Labels as they stand in a file, and as targets.

use sngp::data::Targets;
use sngp::{Error, Result};

use super::dataset::Dataset;

/// The labels as targets.
pub(super) struct Learning {
    pub names: Vec<String>,
    pub train: Targets,
    pub held_out: Targets,
    /// Mean and deviation of numbers.
    pub units: (f64, f64),
}

/// The labels of a set that has to have some.
pub(super) fn labels(set: &Dataset) -> Result<&[String]> {
    set.labels.as_deref().ok_or_else(|| Error::Data(format!("{} has no labels", set.file)))
}

/// Labels as they were read.
pub(super) enum Labels {
    Classes { names: Vec<String>, indices: Vec<usize> },
    Numbers(Vec<f64>),
}

impl Labels {
    pub fn read(labels: &[String], regression: bool) -> Result<Self> {
        if regression {
            return Ok(Self::Numbers(numbers(labels)?));
        }
        let mut names: Vec<String> = labels.to_vec();
        names.sort_by(|a, b| natural(a).partial_cmp(&natural(b)).unwrap_or(a.cmp(b)));
        names.dedup();
        if names.len() > 2 && 2 * names.len() > labels.len() {
            return Err(Error::Data(format!(
                "{} different labels in {} rows: is this the right column? \
                 For numbers, --task regression predicts them",
                names.len(),
                labels.len()
            )));
        }
        let indices = class_indices(labels, &names, "the training data")?;
        Ok(Self::Classes { names, indices })
    }

    /// Classes, or tenths of the range, to hold out of each.
    pub fn strata(&self) -> Vec<usize> {
        match self {
            Self::Classes { indices, .. } => indices.clone(),
            Self::Numbers(values) => {
                let mut order: Vec<usize> = (0..values.len()).collect();
                order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
                let mut strata = vec![0; values.len()];
                for (rank, &row) in order.iter().enumerate() {
                    strata[row] = 10 * rank / values.len();
                }
                strata
            }
        }
    }

    pub fn targets(self, train: &[usize], held_out: &[String], file: &str) -> Result<Learning> {
        match self {
            Self::Classes { names, indices } => {
                let classes = names.len();
                let own = train.iter().map(|&row| indices[row]).collect();
                let held = class_indices(held_out, &names, file)?;
                Ok(Learning {
                    train: Targets::classes(own, classes)?,
                    held_out: Targets::Classes { labels: held, classes },
                    names,
                    units: (0.0, 1.0),
                })
            }
            Self::Numbers(values) => {
                let own: Vec<f64> = train.iter().map(|&row| values[row]).collect();
                let mean = own.iter().sum::<f64>() / own.len() as f64;
                let square = own.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
                let scale = (square / own.len() as f64).sqrt();
                if !(scale.is_finite() && scale > 0.0) {
                    return Err(Error::Data("all numbers to predict are the same".to_string()));
                }
                let standard = |values: &[f64]| {
                    Targets::values(values.iter().map(|v| ((v - mean) / scale) as f32).collect())
                };
                Ok(Learning {
                    names: Vec::new(),
                    train: standard(&own)?,
                    held_out: standard(&numbers(held_out)?)?,
                    units: (mean, scale),
                })
            }
        }
    }
}

pub(super) fn numbers(labels: &[String]) -> Result<Vec<f64>> {
    let number = |(row, label): (usize, &String)| {
        label.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
            Error::Data(format!("row {}: label `{label}` is not a finite number", row + 1))
        })
    };
    labels.iter().enumerate().map(number).collect()
}

/// The class of every label, or an error that names the first unknown one.
pub(super) fn class_indices(labels: &[String], names: &[String], file: &str) -> Result<Vec<usize>> {
    let known: std::collections::HashMap<&String, usize> =
        names.iter().enumerate().map(|(index, name)| (name, index)).collect();
    let class = |(row, label): (usize, &String)| {
        known.get(label).copied().ok_or_else(|| {
            Error::Data(format!(
                "{file}, row {}: label `{label}` is none of the {} known ones",
                row + 1,
                names.len()
            ))
        })
    };
    labels.iter().enumerate().map(class).collect()
}

/// Numbers before words, by their value: 2 comes before 10.
fn natural(label: &str) -> (bool, f64, &str) {
    match label.parse::<f64>() {
        Ok(value) if value.is_finite() => (false, value, label),
        _ => (true, 0.0, label),
    }
}
