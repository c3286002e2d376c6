//! The single steps that writing consists of.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::fault::{self, Step};

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fault::before(Step::Rename);
    fs::rename(from, to)
}

/// What became of an exchange.
pub(super) enum Exchange {
    Done,
    /// There is nothing at one of the names.
    Absent,
    /// This system or file system has no such operation.
    Unsupported,
}

/// Lets two folders swap their names in one step, so that neither name is ever without one.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<Exchange> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    if fault::without_exchange() {
        return Ok(Exchange::Unsupported);
    }
    fault::before(Step::Rename);
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(Exchange::Done),
        Err(Errno::NOENT) => Ok(Exchange::Absent),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(Exchange::Unsupported),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<Exchange> {
    Ok(Exchange::Unsupported)
}

pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    fault::before(Step::Remove);
    fs::remove_dir_all(folder)
}

/// Puts all files and folders below, and the folder itself, on the disk.
pub(super) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            sync_file(&entry.path())?;
        }
    }
    sync_folder(folder)
}

#[cfg(unix)]
fn sync_file(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Elsewhere a file has to be open for writing.
#[cfg(not(unix))]
fn sync_file(path: &Path) -> io::Result<()> {
    File::options().write(true).open(path)?.sync_all()
}

/// Puts the names in a folder on the disk, where that can be asked for.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some network file systems do not know how; they keep names safe in their own way.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        outcome => outcome,
    }
}

#[cfg(not(unix))]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
