//! The same images under worse conditions.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sngp::{Error, Result};

use super::source::data;
use crate::corruption::{Corruption, Severity};
use crate::dataset::image::{CifarC, Images};

/// Corruptions that CIFAR-10-C has beside its fifteen, for validation.
const EXTRA: [Corruption; 4] =
    [Corruption::SpeckleNoise, Corruption::GaussianBlur, Corruption::Spatter, Corruption::Saturate];

/// Where corrupted images come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ShiftConfig {
    /// Made here from the first test images: CIFAR-10-C's fifteen corruptions but `frost`, which
    /// needs photographs.
    Own {
        /// Images of each corruption and severity.
        rows: usize,
    },
    /// A folder in the layout of CIFAR-10-C; of what it has beside the fifteen, nothing is read.
    CifarC {
        /// The folder, relative to the data folder.
        path: PathBuf,
    },
}

impl ShiftConfig {
    /// Every corruption at every severity.
    pub fn read(&self, folder: &Path, test: &Images) -> Result<Vec<Images>> {
        match self {
            Self::Own { rows } => {
                let rows: Vec<usize> = (0..test.len().min(*rows)).collect();
                let kinds = Corruption::ALL.iter().filter(|kind| !is_extra(kind.name()));
                corrupted(&test.select(&rows), kinds)
            }
            Self::CifarC { path } => {
                let set = CifarC::open(folder.join(path), &test.names).map_err(data)?;
                let kinds = set.corruptions().iter().filter(|name| !is_extra(name));
                each(kinds, |kind, severity| set.read(kind, severity).map_err(data))
            }
        }
    }
}

/// The images in every way that CIFAR-10-C keeps for validation, at every severity.
pub(super) fn corrupted_for_validation(clean: &Images) -> Result<Vec<Images>> {
    corrupted(clean, EXTRA.iter())
}

fn corrupted<'a>(
    clean: &Images,
    kinds: impl Iterator<Item = &'a Corruption>,
) -> Result<Vec<Images>> {
    each(kinds, |kind, severity| {
        let corrupted = kind.apply_all(clean, severity, 0);
        corrupted.map_err(|error| Error::Data(error.to_string()))
    })
}

fn is_extra(name: &str) -> bool {
    EXTRA.iter().any(|extra| extra.name() == name)
}

fn each<K>(
    kinds: impl Iterator<Item = K>,
    read: impl Fn(&K, Severity) -> Result<Images>,
) -> Result<Vec<Images>> {
    let mut sets = Vec::new();
    for kind in kinds {
        for severity in Severity::ALL {
            sets.push(read(&kind, severity)?);
        }
    }
    Ok(sets)
}
