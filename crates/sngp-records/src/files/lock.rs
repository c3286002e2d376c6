use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::paths::parent;

/// A folder that no one else holds a lock of, until this is dropped.
///
/// It binds those who ask for a lock, not those who just write. The lock is one of the folder
/// itself, so that nothing lies about and a killed process holds none; where folders cannot be
/// locked it is one of a hidden file beside it. After
/// [`replace_folder`](super::replace_folder) another folder has the name, which is not locked, so
/// replacing should be the last thing done under a lock.
#[derive(Debug)]
pub struct FolderLock {
    /// Locked as long as it is open.
    _file: File,
    /// The file to remove, where it is not the folder.
    beside: Option<PathBuf>,
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        if let Some(path) = &self.beside {
            let _ = fs::remove_file(path);
        }
    }
}

/// Waits until nobody else has a lock of the folder.
///
/// # Errors
///
/// Where there is no such folder, or it cannot be locked.
///
/// ```
/// use sngp_records::files::{lock_folder, try_lock_folder};
///
/// let folder = tempfile::tempdir()?;
/// let lock = lock_folder(&folder)?;
/// assert!(try_lock_folder(&folder)?.is_none());
/// drop(lock);
/// assert!(try_lock_folder(&folder)?.is_some());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn lock_folder(folder: impl AsRef<Path>) -> io::Result<FolderLock> {
    let wait = |file: &File| file.lock().map_err(TryLockError::Error);
    let lock = acquire(folder.as_ref(), wait)?;
    lock.ok_or_else(|| ErrorKind::WouldBlock.into())
}

/// As [`lock_folder`], or `None` at once where somebody else has a lock.
///
/// # Errors
///
/// As for [`lock_folder`].
pub fn try_lock_folder(folder: impl AsRef<Path>) -> io::Result<Option<FolderLock>> {
    acquire(folder.as_ref(), File::try_lock)
}

fn acquire(
    folder: &Path,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> io::Result<Option<FolderLock>> {
    loop {
        // Before opening it, which would wait for a writer were it a named pipe.
        if !fs::metadata(folder)?.is_dir() {
            return Err(io::Error::new(ErrorKind::NotADirectory, "only folders are locked"));
        }
        let locked = File::open(folder)
            .map_err(TryLockError::Error)
            .and_then(|file| lock(&file).map(|()| FolderLock { _file: file, beside: None }));
        let (locked, path) = match locked {
            Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Interrupted => {
                let path = file_beside(folder)?;
                (lock_file(&path, &lock), path)
            }
            locked => (locked, folder.to_owned()),
        };
        match locked {
            // While waiting, the folder may have been replaced, or the file removed.
            Ok(locked) if is_still_at(&locked._file, &path)? => return Ok(Some(locked)),
            Ok(_) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn file_beside(folder: &Path) -> io::Result<PathBuf> {
    let folder = folder.canonicalize()?;
    let mut name = OsString::from(".sngp-lock-");
    name.push(folder.file_name().unwrap_or_default());
    Ok(parent(&folder).join(name))
}

fn lock_file(
    path: &Path,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<FolderLock, TryLockError> {
    let file = File::options().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(TryLockError::Error)?;
    lock(&file)?;
    Ok(FolderLock { _file: file, beside: Some(path.to_owned()) })
}

#[cfg(unix)]
fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let (held, found) = (file.metadata()?, fs::metadata(path));
    Ok(found.is_ok_and(|found| (held.dev(), held.ino()) == (found.dev(), found.ino())))
}

#[cfg(not(unix))]
fn is_still_at(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

#[cfg(test)]
mod tests;
