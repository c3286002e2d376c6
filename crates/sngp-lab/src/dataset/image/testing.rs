use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

pub(crate) use crate::dataset::text::testing::real_data;

/// A folder with files of its own, removed on drop.
pub(crate) struct Scratch {
    _folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        Self { _folder: folder, path }
    }

    /// Adds a file, and the folders on the way to it.
    pub(crate) fn with(self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
        self
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

pub(crate) fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

/// Calls `read` with `file` cut at every length and with every byte changed: none may panic.
pub(crate) fn every_damage<T>(file: &[u8], mut read: impl FnMut(&[u8]) -> super::Result<T>) {
    (0..file.len()).for_each(|length| drop(read(&file[..length])));
    for at in 0..file.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = file.to_vec();
            damaged[at] ^= change;
            let _ = read(&damaged);
        }
    }
}

pub(crate) fn assert_says<T>(result: super::Result<T>, expected: &str) {
    let message = result.err().expect("an error").to_string();
    assert!(message.contains(expected), "{message:?} should contain {expected:?}");
}
