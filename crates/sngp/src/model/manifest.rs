//! The list of a model folder's files with their hashes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::read_json;
use crate::hash::sha256;
use crate::{Error, Result};

/// The version of the folder's layout that this library writes. It reads this and every older one;
/// `docs/model-folder.md` says what each added.
pub(super) const FORMAT_VERSION: u32 = 2;
pub(super) const MANIFEST: &str = "manifest.json";
const FORMAT: &str = "sngp-model";
/// How often a folder may be replaced while it is read.
const READS: usize = 10;

/// The manifest: what the folder is, and the SHA-256 of every other file in it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: String,
    format_version: u32,
    files: BTreeMap<String, String>,
}

impl Manifest {
    /// The manifest of the given files.
    pub fn of(files: &BTreeMap<String, Vec<u8>>) -> Self {
        let hashes = files.iter().map(|(name, bytes)| (name.clone(), sha256(bytes)));
        Self { format: FORMAT.to_string(), format_version: FORMAT_VERSION, files: hashes.collect() }
    }

    /// Reads a folder's manifest and every file it lists, verified.
    pub fn read(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
        Self::unchanged(folder, |manifest| {
            let names = manifest.files.keys();
            names.map(|name| Ok((name.clone(), manifest.verified(folder, name)?))).collect()
        })
    }

    /// Reads one of a folder's files, verified, and no other.
    pub fn read_one(folder: &Path, name: &str) -> Result<Vec<u8>> {
        Self::unchanged(folder, |manifest| manifest.verified(folder, name))
    }

    /// Reads by a manifest. A folder that is replaced meanwhile has the files of another manifest:
    /// then it is read again.
    fn unchanged<T>(folder: &Path, read: impl Fn(&Self) -> Result<T>) -> Result<T> {
        let mut manifest = Self::open(folder)?;
        for _ in 0..READS {
            let found = read(&manifest);
            if found.is_ok() {
                return found;
            }
            let now = Self::open(folder)?;
            if now == manifest {
                return found;
            }
            manifest = now;
        }
        read(&manifest)
    }

    /// Refuses a folder that is no model of ours, or of another version.
    fn open(folder: &Path) -> Result<Self> {
        if !folder.is_dir() {
            return Err(Error::corrupt(folder, "there is no such model folder"));
        }
        let path = folder.join(MANIFEST);
        if !path.exists() {
            return Err(Error::corrupt(folder, format!("not a model folder: no {MANIFEST}")));
        }
        let manifest: Self = read_json(&path)?;
        if manifest.format != FORMAT {
            return Err(Error::corrupt(path, format!("its format is `{}`", manifest.format)));
        }
        if !(1..=FORMAT_VERSION).contains(&manifest.format_version) {
            return Err(Error::corrupt(
                path,
                format!(
                    "its format version is {}, this program reads up to {FORMAT_VERSION}; \
                     install the version of sngp that wrote it, or a newer one",
                    manifest.format_version
                ),
            ));
        }
        match manifest.files.keys().find(|name| !is_plain(name)) {
            None => Ok(manifest),
            Some(name) => {
                let reason = format!("it lists `{name}`, which is not the name of a file in it");
                Err(Error::corrupt(path, reason))
            }
        }
    }

    fn verified(&self, folder: &Path, name: &str) -> Result<Vec<u8>> {
        let expected = self
            .files
            .get(name)
            .ok_or_else(|| Error::corrupt(folder, format!("the manifest lists no {name}")))?;
        let path = folder.join(name);
        let bytes = fs::read(&path).map_err(Error::io(&path))?;
        if sha256(&bytes) != *expected {
            let reason = "its SHA-256 is not the manifest's; the file was changed or damaged";
            return Err(Error::corrupt(path, reason));
        }
        Ok(bytes)
    }

    /// The names a folder's manifest lists.
    pub fn names(folder: &Path) -> Result<Vec<String>> {
        Ok(read_json::<Self>(&folder.join(MANIFEST))?.files.into_keys().collect())
    }

    /// Whether a folder says that it is one of ours.
    pub fn is_ours(folder: &Path) -> bool {
        read_json::<Self>(&folder.join(MANIFEST)).is_ok_and(|manifest| manifest.format == FORMAT)
    }
}

/// Whether a name is that of a file directly in a folder.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.')
}
