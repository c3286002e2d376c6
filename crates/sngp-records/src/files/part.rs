//! Files under way: `.sngp-part-PROCESS.RANDOM`, locked as long as somebody writes them.

use std::fs::{self, File, Permissions};
use std::io;
use std::path::Path;
use std::process;

use tempfile::NamedTempFile;

use super::leftover::may_run;

const PREFIX: &str = ".sngp-part-";

/// A new file in a folder that is removed on drop. Those that killed processes left there are
/// removed first.
pub(super) fn create(folder: &Path, permissions: Option<Permissions>) -> io::Result<NamedTempFile> {
    sweep(folder);
    let prefix = format!("{PREFIX}{}.", process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    if permissions.is_none() {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private by default, and the final file would stay so. The
        // process's own mask is still applied.
        builder.permissions(Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder)?;
    // Where files cannot be locked, the process's number alone protects it.
    let _ = file.as_file().try_lock();
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    Ok(file)
}

/// Removes what nobody writes any more. What cannot be listed or removed does no harm.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(creator) = name.to_str().and_then(creator) else { continue };
        let regular = entry.file_type().is_ok_and(|kind| kind.is_file());
        if regular && !may_run(creator) && is_unlocked(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The process that a name says, where it is one of ours.
fn creator(name: &str) -> Option<u32> {
    let (process, random) = name.strip_prefix(PREFIX)?.split_once('.')?;
    (!random.contains('.')).then(|| process.parse().ok())?
}

/// A process of another container has a number that means nothing here, but its lock does.
fn is_unlocked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of a process that is no more.
    fn dead() -> u32 {
        let mut child = process::Command::new(std::env::current_exe().unwrap())
            .arg("--list")
            .stdout(process::Stdio::null())
            .spawn()
            .unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[cfg(unix)]
    #[test]
    fn only_what_nobody_writes_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (dead, alive) = (dead(), process::id());
        let names = [
            (format!("{PREFIX}{dead}.aaaaaa"), false),
            (format!("{PREFIX}{dead}.locked"), true),
            (format!("{PREFIX}{alive}.aaaaaa"), true),
            (format!("{PREFIX}{dead}.a.b"), true),
            (format!("{PREFIX}notes"), true),
            (format!("x{PREFIX}{dead}.aaaaaa"), true),
        ];
        for (name, _) in &names {
            fs::write(path(name), "half").unwrap();
        }
        fs::create_dir(path(&format!("{PREFIX}{dead}.folder"))).unwrap();
        let locked = File::open(path(&names[1].0)).unwrap();
        locked.lock().unwrap();
        let file = create(folder.path(), None).unwrap();
        for (name, stays) in &names {
            assert_eq!(path(name).exists(), *stays, "{name}");
        }
        assert!(path(&format!("{PREFIX}{dead}.folder")).exists() && file.path().exists());
        assert!(!is_unlocked(file.path()), "a file under way is locked");
        drop(locked);
        sweep(folder.path());
        assert!(!path(&names[1].0).exists());
    }
}
