//! Files that are whole or not there.

use std::fs;
use std::io::Write;
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
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = temporary().tempfile_in(folder).map_err(Error::io(path))?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(Error::io(path))?;
    file.persist(path).map_err(|error| Error::Io { path: path.into(), cause: error.error })?;
    Ok(())
}

/// Temporary files that get the permissions any new file would, not a private file's.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_names_the_path_and_cleans_up() {
        let folder = tempfile::tempdir().unwrap();
        // The target is a folder that is not empty, so the rename has to fail.
        let target = folder.path().join("taken");
        fs::create_dir_all(target.join("inside")).unwrap();
        let message = write_whole(&target, b"x").unwrap_err().to_string();
        assert!(message.contains("taken"), "{message}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "only the folder itself is left");
    }
}
