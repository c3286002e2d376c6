//! Labels as they stand in a file, and as targets.

use std::collections::{BTreeMap, HashMap, HashSet};

use sngp::data::Targets;
use sngp::{Error, Result};

use super::options::Options;

/// The labels as targets.
pub(super) struct Learning {
    pub names: Vec<String>,
    pub train: Targets,
    pub held_out: Targets,
    /// Mean and deviation of numbers.
    pub units: (f64, f64),
}

impl Learning {
    /// The same numbers in another unit, given in the present one.
    pub fn in_unit(&self, unit: f64) -> Result<Self> {
        let scaled = |targets: &Targets| match targets {
            Targets::Values(values) => {
                Targets::values(values.iter().map(|v| (f64::from(*v) / unit) as f32).collect())
            }
            classes @ Targets::Classes { .. } => Ok(classes.clone()),
        };
        Ok(Self {
            names: self.names.clone(),
            train: scaled(&self.train)?,
            held_out: scaled(&self.held_out)?,
            units: (self.units.0, self.units.1 * unit),
        })
    }
}

/// Labels as they were read.
pub(super) enum Labels {
    Classes { names: Vec<String>, indices: Vec<usize> },
    Numbers(Vec<f64>),
}

impl Labels {
    pub fn read(labels: &[String], options: &Options<'_>) -> Result<Self> {
        if options.regression() {
            return Ok(Self::Numbers(numbers(labels)?));
        }
        let mut names: Vec<String> = labels.to_vec();
        names.sort_by(|a, b| natural(a).partial_cmp(&natural(b)).unwrap_or(a.cmp(b)));
        names.dedup();
        if !options.many_classes && names.len() > 2 && 2 * names.len() > labels.len() {
            return Err(Error::Data(format!(
                "{} different labels in {} rows: is this the right column? \
                 Numbers are predicted by a regression",
                names.len(),
                labels.len()
            )));
        }
        let indices = class_indices(labels, &names, "the training data")?;
        Ok(Self::Classes { names, indices })
    }

    /// What there is to say about classes that differ in writing only, if there are any: people write the
    /// same label in several ways, and a model would be trained to tell them apart.
    pub fn look_alikes(&self) -> Option<String> {
        let Self::Classes { names, .. } = self else { return None };
        let plain = |name: &str| match name.trim().parse::<f64>() {
            Ok(value) => value.to_string(),
            Err(_) => name.trim().to_lowercase(),
        };
        let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        names.iter().for_each(|name| alike.entry(plain(name)).or_default().push(name));
        let shown = |names: &[&str]| {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
        };
        let groups: Vec<String> =
            alike.values().filter(|names| names.len() > 1).map(|names| shown(names)).collect();
        (!groups.is_empty()).then(|| {
            let more = if groups.len() > 5 { ", .." } else { "" };
            let groups = groups[..groups.len().min(5)].join(", ");
            format!("classes that differ in writing only: {groups}{more}; are they the same?")
        })
    }

    /// Labels of classes that are known before, each of which has an example.
    pub fn of_classes(labels: &[String], names: Vec<String>) -> Result<Self> {
        let indices = class_indices(labels, &names, "the training data")?;
        let known: HashSet<usize> = indices.iter().copied().collect();
        let missing = names.iter().enumerate().filter(|(class, _)| !known.contains(class));
        let missing: Vec<&str> = missing.map(|(_, name)| name.as_str()).collect();
        match missing[..] {
            [] => Ok(Self::Classes { names, indices }),
            [first, ..] => Err(Error::Data(format!(
                "{} of the classifier's {} classes have no example, `{first}` for one",
                missing.len(),
                names.len()
            ))),
        }
    }

    /// Classes, or tenths of the range, to hold out of each; fewer parts of few numbers, or none of
    /// them would be held out.
    pub fn strata(&self) -> Vec<usize> {
        match self {
            Self::Classes { indices, .. } => indices.clone(),
            Self::Numbers(values) => {
                let mut order: Vec<usize> = (0..values.len()).collect();
                order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
                let parts = (values.len() / 5).clamp(1, 10);
                let mut strata = vec![0; values.len()];
                for (rank, &row) in order.iter().enumerate() {
                    strata[row] = parts * rank / values.len();
                }
                strata
            }
        }
    }

    /// The rows of other labels that can be used: those of known classes.
    pub fn usable_rows(&self, labels: &[String], remarks: &mut Vec<String>) -> Vec<usize> {
        match self {
            Self::Classes { names, .. } => {
                let found = known_rows(labels, names);
                remarks.extend(found.remark());
                found.rows
            }
            Self::Numbers(_) => (0..labels.len()).collect(),
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
                    let (low, high) = own
                        .iter()
                        .fold((f64::MAX, f64::MIN), |(low, high), &v| (low.min(v), high.max(v)));
                    return Err(Error::Data(match low < high {
                        true => format!(
                            "the numbers to predict, from {low:e} to {high:e}, are too large or too \
                             close to each other to compute with; give them in another unit"
                        ),
                        false => "all numbers to predict are the same".to_string(),
                    }));
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

/// Labels as finite numbers.
pub fn numbers(labels: &[String]) -> Result<Vec<f64>> {
    let number = |(row, label): (usize, &String)| {
        label.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
            Error::Data(format!("row {}: label `{label}` is not a finite number", row + 1))
        })
    };
    labels.iter().enumerate().map(number).collect()
}

/// Known classes that an error names.
const SHOWN: usize = 8;

/// The class of every label, or an error that names the first unknown one.
fn class_indices(labels: &[String], names: &[String], file: &str) -> Result<Vec<usize>> {
    let KnownRows { classes, unknown, .. } = known_rows(labels, names);
    match unknown.first() {
        None => Ok(classes),
        Some((label, _)) => Err(Error::Data(format!(
            "{file}: label `{label}` is none of the {} known ones: {}{}",
            names.len(),
            names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", "),
            if names.len() > SHOWN { ", .." } else { "" },
        ))),
    }
}

/// Labels of a set beside the classes a model knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownRows {
    /// Rows whose label is a class of the model.
    pub rows: Vec<usize>,
    /// Their classes.
    pub classes: Vec<usize>,
    /// The other rows.
    pub unknown_rows: Vec<usize>,
    /// Their labels and how often each is there, most frequent first.
    pub unknown: Vec<(String, usize)>,
}

impl KnownRows {
    /// What there is to say about unknown labels, if there are any.
    pub fn remark(&self) -> Option<String> {
        let count = self.unknown_rows.len();
        let shown: Vec<String> =
            self.unknown.iter().take(5).map(|(label, n)| format!("`{label}` ({n})")).collect();
        let more = if self.unknown.len() > 5 { ", .." } else { "" };
        (count > 0).then(|| {
            format!("{count} rows have labels that are no class here: {}{more}", shown.join(", "))
        })
    }
}

/// Which rows have a label that a model knows.
///
/// ```
/// use sngp_pipeline::fit::known_rows;
///
/// let labels = ["b", "c", "a", "c"].map(str::to_string);
/// let found = known_rows(&labels, &["a", "b"].map(str::to_string));
/// assert_eq!((found.rows, found.classes), (vec![0, 2], vec![1, 0]));
/// assert_eq!(found.unknown, [("c".to_string(), 2)]);
/// ```
pub fn known_rows(labels: &[String], names: &[String]) -> KnownRows {
    let known: HashMap<&String, usize> =
        names.iter().enumerate().map(|(index, name)| (name, index)).collect();
    let mut found = KnownRows::default();
    let mut unknown: BTreeMap<&String, usize> = BTreeMap::new();
    for (row, label) in labels.iter().enumerate() {
        match known.get(label) {
            Some(&class) => {
                found.rows.push(row);
                found.classes.push(class);
            }
            None => {
                found.unknown_rows.push(row);
                *unknown.entry(label).or_default() += 1;
            }
        }
    }
    found.unknown = unknown.into_iter().map(|(label, n)| (label.clone(), n)).collect();
    found.unknown.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found
}

/// Numbers before words, by their value: 2 comes before 10.
fn natural(label: &str) -> (bool, f64, &str) {
    match label.parse::<f64>() {
        Ok(value) if value.is_finite() => (false, value, label),
        _ => (true, 0.0, label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_differ_in_writing_are_said() {
        let of = |names: &[&str]| {
            let names = names.iter().map(|name| name.to_string()).collect();
            Labels::Classes { names, indices: Vec::new() }.look_alikes()
        };
        assert_eq!(of(&["ash", "birch", "1", "10"]), None);
        let said = of(&["1", "1.0", "ASH", "ash", " ash", "oak"]).unwrap();
        assert!(said.contains("`1` and `1.0`"), "{said}");
        assert!(said.contains("`ASH` and `ash` and ` ash`"), "{said}");
    }
}
