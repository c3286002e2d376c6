use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::leftover::{Kind, Siblings};
use super::part;
use super::paths::parent;
use super::steps::{self, Exchange, remove_folder, rename, sync_folder, sync_tree};

/// A process takes microseconds from one rename to the next; after two seconds it is not coming.
const WAITS: usize = 200;
const WAIT: Duration = Duration::from_millis(10);

/// Fills a new folder and puts it in the place of `folder`, or where there was none.
///
/// `fill` gets a hidden folder beside it. Where it fails, or anything else does, what was there
/// stays as it was. On Linux and macOS the two folders swap their names in one step, so that
/// someone reading always finds one of them complete. Where the file system cannot do that, the
/// old folder is moved aside first; a process killed just then leaves no folder at all, and
/// [`recover`] puts the old one back.
///
/// A symbolic link is followed and stays, the mode of the folder is kept, and what earlier
/// processes left over beside it is removed. Folders on the way are made.
///
/// # Errors
///
/// Those of `fill`, and where a folder cannot be made, written to the disk or renamed.
///
/// ```
/// use std::io;
/// use sngp_records::files::replace_folder;
///
/// let place = tempfile::tempdir()?;
/// let folder = place.path().join("model");
/// replace_folder(&folder, |new| std::fs::write(new.join("weights"), "1"))?;
/// let failed = replace_folder(&folder, |new| {
///     std::fs::write(new.join("weights"), "2")?;
///     Err(io::Error::other("no more memory"))
/// });
/// assert!(failed.is_err());
/// assert_eq!(std::fs::read_to_string(folder.join("weights"))?, "1");
/// # Ok::<(), io::Error>(())
/// ```
pub fn replace_folder<E: From<io::Error>>(
    folder: impl AsRef<Path>,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    fs::create_dir_all(parent(folder.as_ref()))?;
    let siblings = Siblings::of(folder.as_ref())?;
    put_back(&siblings)?;
    sweep(&siblings)?;
    let permissions = match fs::metadata(&siblings.folder) {
        Ok(found) if found.is_dir() => Some(found.permissions()),
        Ok(_) => return Err(not_a_folder().into()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let new = siblings.create_new()?;
    fill(new.path())?;
    if let Some(permissions) = permissions {
        fs::set_permissions(new.path(), permissions)?;
    }
    sync_tree(new.path())?;
    Ok(put(&siblings, new)?)
}

/// Puts a folder back in its place that an interrupted [`replace_folder`] moved aside.
///
/// To be called before such a folder is opened. Where the folder is there this does nothing, and
/// where its replacement is under way it waits for it.
///
/// # Errors
///
/// Where the parent folder cannot be read or the folder not be renamed.
///
/// ```
/// let place = tempfile::tempdir()?;
/// // Nothing was interrupted, so nothing happens.
/// sngp_records::files::recover(place.path().join("model"))?;
/// assert!(!place.path().join("model").exists());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn recover(folder: impl AsRef<Path>) -> io::Result<()> {
    put_back(&Siblings::of(folder.as_ref())?)
}

fn put_back(siblings: &Siblings) -> io::Result<()> {
    for wait in 0.. {
        if fs::symlink_metadata(&siblings.folder).is_ok() {
            break;
        }
        let old = siblings.list(Kind::Old)?;
        let Some(youngest) = old.first() else { break };
        if wait == WAITS || !youngest.has_creator() {
            return match rename(&youngest.path, &siblings.folder) {
                // Someone else was faster.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                Err(_) if siblings.folder.is_dir() => Ok(()),
                outcome => outcome.and_then(|()| sync_folder(siblings.parent())),
            };
        }
        thread::sleep(WAIT);
    }
    Ok(())
}

/// Removes what earlier processes left. What cannot be removed does no harm.
fn sweep(siblings: &Siblings) -> io::Result<()> {
    let mut leftovers = siblings.list(Kind::New)?;
    if siblings.folder.exists() {
        leftovers.extend(siblings.list(Kind::Old)?);
    }
    for leftover in leftovers.iter().filter(|leftover| leftover.is_abandoned()) {
        let _ = fs::remove_dir_all(&leftover.path);
    }
    part::sweep(siblings.parent());
    Ok(())
}

/// Gives the new folder its name.
fn put(siblings: &Siblings, new: TempDir) -> io::Result<()> {
    let folder = &siblings.folder;
    match steps::exchange(new.path(), folder)? {
        // The hidden name is now that of the old folder.
        Exchange::Done => {
            sync_folder(siblings.parent())?;
            discard(&new.keep());
            Ok(())
        }
        Exchange::Unsupported if folder.exists() => put_in_two_steps(siblings, new),
        Exchange::Absent | Exchange::Unsupported => {
            rename(new.path(), folder)?;
            let _ = new.keep();
            sync_folder(siblings.parent())
        }
    }
}

fn put_in_two_steps(siblings: &Siblings, new: TempDir) -> io::Result<()> {
    let (folder, old) = (&siblings.folder, siblings.old_beside(new.path()));
    rename(folder, &old)?;
    if let Err(error) = rename(new.path(), folder) {
        rename(&old, folder)?;
        return Err(error);
    }
    let _ = new.keep();
    sync_folder(siblings.parent())?;
    discard(&old);
    Ok(())
}

/// The new folder is in place already, so that failing here would tell a wrong story; the next
/// replacement tries again.
fn discard(folder: &Path) {
    let _ = remove_folder(folder);
}

fn not_a_folder() -> io::Error {
    io::Error::new(ErrorKind::NotADirectory, "something else than a folder has this name")
}

#[cfg(test)]
mod tests;
