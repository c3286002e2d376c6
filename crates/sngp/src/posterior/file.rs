//! Precisions as files of their own.

use std::path::Path;

use super::Precision;
use crate::files::{to_json, write_whole};
use crate::model::tensors::{PrecisionInfo, Tensors};
use crate::{Error, Result};

const INFO: &str = "info";

/// Saves precisions, e.g. those of a shard, as one file.
///
/// ```
/// use sngp::posterior::{Curvature, FeatureMapHash, Precision, load_precisions, save_precisions};
///
/// # let folder = std::env::temp_dir().join(format!("sngp-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let path = folder.join("shard.precision");
/// let empty = Precision::new(2, 1, Curvature::Gaussian, FeatureMapHash([7; 32]));
/// save_precisions(&path, &[empty.clone()])?;
/// assert_eq!(load_precisions(&path)?[0].hash(), empty.hash());
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn save_precisions(path: impl AsRef<Path>, precisions: &[Precision]) -> Result<()> {
    write_whole(path.as_ref(), &precisions_to_bytes(precisions)?)
}

/// Loads precisions that were saved as a file.
pub fn load_precisions(path: impl AsRef<Path>) -> Result<Vec<Precision>> {
    let path = path.as_ref();
    read(path, &std::fs::read(path).map_err(Error::io(path))?)
}

/// The bytes of such a file, to be sent somewhere else.
///
/// ```
/// use sngp::posterior::{
///     Curvature, FeatureMapHash, Precision, precisions_from_bytes, precisions_to_bytes,
/// };
///
/// let empty = Precision::new(2, 1, Curvature::Gaussian, FeatureMapHash([7; 32]));
/// let bytes = precisions_to_bytes(&[empty.clone()])?;
/// assert_eq!(precisions_from_bytes(&bytes)?[0].hash(), empty.hash());
/// assert!(precisions_from_bytes(b"anything else").is_err());
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn precisions_to_bytes(precisions: &[Precision]) -> Result<Vec<u8>> {
    let mut tensors = Tensors::default();
    let infos: Vec<PrecisionInfo> = precisions.iter().map(PrecisionInfo::of).collect();
    tensors.put_bytes(INFO, to_json(&infos)?);
    for (index, precision) in precisions.iter().enumerate() {
        tensors.put_precision(&name(index), precision);
    }
    tensors.to_bytes()
}

/// Precisions from the bytes of such a file.
pub fn precisions_from_bytes(bytes: &[u8]) -> Result<Vec<Precision>> {
    read(Path::new("the precision"), bytes)
}

fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Precision>> {
    let mut tensors = Tensors::from_bytes(path, bytes)?;
    let damaged = |error: &dyn std::fmt::Display| Error::corrupt(path, error.to_string());
    let info = tensors.take_bytes(INFO).map_err(|error| damaged(&error))?;
    let infos: Vec<PrecisionInfo> =
        serde_json::from_slice(&info).map_err(|error| damaged(&error))?;
    if infos.is_empty() {
        return Err(Error::corrupt(path, "it holds no precision"));
    }
    let parts = infos.iter().enumerate();
    let precisions: Result<Vec<Precision>> =
        parts.map(|(index, info)| tensors.take_precision(&name(index), info)).collect();
    precisions.map_err(|error| damaged(&error))
}

fn name(index: usize) -> String {
    format!("precision.{index}")
}
