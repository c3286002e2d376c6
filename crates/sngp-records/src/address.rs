//! Addresses in object storage, where a path could stand.

use std::path::Path;

pub(crate) const AMAZON: [&str; 2] = ["s3", "s3a"];
pub(crate) const GOOGLE: [&str; 1] = ["gs"];
const AZURE: [&str; 5] = ["az", "azure", "adl", "abfs", "abfss"];

/// Whether a path is an address in object storage: `s3://`, `gs://`, `az://` and their other names.
///
/// Such a path is read as files are, where the feature `remote` is on. Credentials and endpoints are
/// those of the environment: `AWS_..`, `GOOGLE_..`, `AZURE_..`.
///
/// ```
/// use sngp_records::is_address;
///
/// assert!(is_address("s3://bucket/rows.parquet"));
/// assert!(!is_address("rows.parquet") && !is_address("C:/rows.parquet"));
/// ```
pub fn is_address(path: impl AsRef<Path>) -> bool {
    let text = path.as_ref().to_str().unwrap_or_default();
    let known = |scheme| AMAZON.iter().chain(&GOOGLE).chain(&AZURE).any(|known| *known == scheme);
    text.split_once("://").is_some_and(|(scheme, _)| known(scheme))
}
