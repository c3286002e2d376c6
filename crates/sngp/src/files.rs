//! Files that are whole or not there.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// Writes bytes under a temporary name in the same folder and renames it: a reader never sees half
/// a file, and a failure leaves what was there.
///
/// ```
/// let path = std::env::temp_dir().join("sngp-files-example");
/// sngp::files::write_whole(&path, b"whole")?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"whole");
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    sngp_records::files::write_whole(path, bytes).map_err(Error::io(path))
}

/// Puts back a folder that was being replaced when the machine stopped. Readers call it first.
pub fn recover(folder: &Path) -> Result<()> {
    sngp_records::files::recover(folder).map_err(Error::io(folder))
}

/// Writes a value as indented JSON.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_whole(path, &to_json(value)?)
}

/// A value as indented JSON.
pub fn to_json(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|e| Error::Data(e.to_string()))?;
    text.push(b'\n');
    Ok(text)
}

/// Reads a value from JSON.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).map_err(Error::io(path))?;
    serde_json::from_slice(&text).map_err(|error| Error::corrupt(path, error.to_string()))
}
