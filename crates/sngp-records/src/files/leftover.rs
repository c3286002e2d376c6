//! The hidden folders beside one that is being replaced.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::paths::{end_of_links, parent};

/// What is older has been left over, even where a process has the number of its creator.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// What a hidden folder holds.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// The folder to come; after an exchange the one that was.
    New,
    /// The folder that was, where folders cannot be exchanged.
    Old,
}

/// A folder and the names beside it, `.sngp-KIND-NAME.PROCESS.RANDOM`.
pub(super) struct Siblings {
    pub(super) folder: PathBuf,
    name: OsString,
}

impl Siblings {
    /// Those of the folder, or of the one that a link of this name leads to.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let folder = match folder.canonicalize() {
            Err(error) if error.kind() == ErrorKind::NotFound => end_of_links(folder)?,
            found => found?,
        };
        match folder.file_name() {
            Some(name) => Ok(Self { name: name.to_owned(), folder }),
            None => Err(io::Error::new(ErrorKind::InvalidInput, "the path names no folder")),
        }
    }

    pub(super) fn parent(&self) -> &Path {
        parent(&self.folder)
    }

    /// A new and empty folder that is removed on drop.
    pub(super) fn create_new(&self) -> io::Result<TempDir> {
        let mut prefix = self.prefix(Kind::New);
        prefix.push(format!("{}.", process::id()));
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Private by default, and the final folder would stay so. The process's own mask is
            // still applied.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        builder.tempdir_in(self.parent())
    }

    /// The name that the old folder gets when `new` takes its place.
    pub(super) fn old_beside(&self, new: &Path) -> PathBuf {
        let random = new.extension().unwrap_or_default();
        let mut name = self.prefix(Kind::Old);
        name.push(format!("{}.", process::id()));
        name.push(random);
        self.parent().join(name)
    }

    /// The folders of a kind that are there, the youngest first.
    pub(super) fn list(&self, kind: Kind) -> io::Result<Vec<Leftover>> {
        let prefix = self.prefix(kind);
        let entries = match fs::read_dir(self.parent()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let Some(creator) = creator(&entry.file_name(), &prefix) else { continue };
            // One that is gone by now is nobody's concern.
            let Ok(modified) = entry.metadata().and_then(|data| data.modified()) else { continue };
            found.push(Leftover { path: entry.path(), creator, modified });
        }
        found.sort_by_key(|leftover| std::cmp::Reverse(leftover.modified));
        Ok(found)
    }

    fn prefix(&self, kind: Kind) -> OsString {
        let mut prefix = OsString::from(match kind {
            Kind::New => ".sngp-new-",
            Kind::Old => ".sngp-old-",
        });
        prefix.push(&self.name);
        prefix.push(".");
        prefix
    }
}

/// The process that a name says, where it is one of ours with this prefix.
fn creator(name: &OsStr, prefix: &OsStr) -> Option<u32> {
    let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes())?;
    let (process, random) = str::from_utf8(rest).ok()?.split_once('.')?;
    // A folder called `NAME.1.x` has siblings that start alike, but with more dots.
    (!random.contains('.')).then(|| process.parse().ok())?
}

/// A hidden folder that may have been left over.
pub(super) struct Leftover {
    pub(super) path: PathBuf,
    creator: u32,
    modified: SystemTime,
}

impl Leftover {
    pub(super) fn is_abandoned(&self) -> bool {
        let age = self.modified.elapsed().unwrap_or_default();
        age > ABANDONED_AFTER || !self.has_creator()
    }

    /// Whether the process that made it may still be at work.
    pub(super) fn has_creator(&self) -> bool {
        may_run(self.creator)
    }
}

/// Whether there may be a process of this number.
#[cfg(unix)]
pub(super) fn may_run(process: u32) -> bool {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    let number = i32::try_from(process).ok();
    let Some(process) = number.and_then(Pid::from_raw) else { return false };
    // Any other answer, such as "not permitted", comes from a process that is there.
    test_kill_process(process) != Err(Errno::SRCH)
}

/// Elsewhere nobody can tell.
#[cfg(not(unix))]
pub(super) fn may_run(process: u32) -> bool {
    process != 0
}
