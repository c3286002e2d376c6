use std::env;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use tempfile::TempDir;

/// A file in a folder of its own, both removed on drop.
pub(crate) struct Scratch {
    _folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Scratch {
    pub(crate) fn file(name: &str, contents: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, contents).unwrap();
        Self { _folder: folder, path }
    }
}

pub(crate) fn strings(values: &[&str]) -> Vec<String> {
    values.iter().map(|&value| value.to_owned()).collect()
}

/// The folder of a real data set, or `None` with a note where none was given.
pub(crate) fn real_data(name: &str) -> Option<PathBuf> {
    let folder = env::var_os("SNGP_DATA").map(|data| PathBuf::from(data).join(name));
    let folder = folder.filter(|folder| folder.is_dir());
    if folder.is_none() {
        // Not `eprintln!`, which a passing test keeps to itself.
        let _ = writeln!(std::io::stderr(), "skipped: set SNGP_DATA to a folder with {name}/");
    }
    folder
}
