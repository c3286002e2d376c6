//! Files that appear whole or not at all.

use super::{FigureError, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// `stem` with `suffix` appended. Unlike `Path::with_extension` it keeps a dot in the stem:
/// `moons.v2` becomes `moons.v2.png`, not `moons.png`.
pub(super) fn with_suffix(stem: &Path, suffix: &str) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Writes `bytes` under a temporary name in the same folder, then renames: a reader never sees
/// half a file, and a run that dies leaves the old one.
pub(super) fn whole(path: &Path, bytes: &[u8]) -> Result<()> {
    // Distinct among processes and among threads that save the same figure.
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let temporary = with_suffix(path, &format!(".{}-{serial}.tmp", std::process::id()));

    fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path)).map_err(|source| {
        // The first error is the one to report; the clean-up is best effort.
        let _ = fs::remove_file(&temporary);
        FigureError::Io { path: path.to_owned(), source }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_in_the_stem_survives() {
        assert_eq!(with_suffix(Path::new("out/moons.v2"), ".png"), Path::new("out/moons.v2.png"));
    }

    #[test]
    fn a_failed_save_names_the_path_and_cleans_up() {
        let folder = std::env::temp_dir().join(format!("sngp-save-{}", std::process::id()));
        // The target is a folder that is not empty, so the rename has to fail.
        let target = folder.join("taken");
        fs::create_dir_all(target.join("inside")).unwrap();
        let message = whole(&target, b"x").unwrap_err().to_string();
        let left = fs::read_dir(&folder).unwrap().count();
        fs::remove_dir_all(&folder).unwrap();
        assert!(message.contains("taken"), "{message}");
        assert_eq!(left, 1, "only the folder itself is left");
    }
}
