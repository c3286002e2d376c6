use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::fault::{self, Step};
use super::part;
use super::paths::{end_of_links, parent};
use super::steps::sync_folder;

/// A file that appears under its name only with [`finish`](Self::finish).
///
/// Until then it is a hidden one beside it, which is removed on drop; what killed processes left of
/// theirs in that folder is removed first. In its place
/// - what was there stays as it was when anything fails;
/// - a symbolic link is followed and stays a link;
/// - the mode of a file that is replaced is kept, and one that may not be written is not replaced;
/// - what is no regular file, such as `/dev/null` or a named pipe, is written to directly.
///
/// ```
/// use std::io::Write;
/// use sngp_records::files::WholeFile;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("notes.txt");
/// let mut file = WholeFile::create(&path)?;
/// writeln!(file, "all of it")?;
/// assert!(!path.exists());
/// file.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "all of it\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct WholeFile(Place);

#[derive(Debug)]
enum Place {
    Beside { file: BufWriter<NamedTempFile>, path: PathBuf },
    Direct(BufWriter<File>),
}

/// Writes a file in one go, as [`WholeFile`] does.
///
/// # Errors
///
/// As for [`WholeFile::create`] and [`WholeFile::finish`].
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("card.json");
/// sngp_records::files::write_whole(&path, "{}")?;
/// assert_eq!(std::fs::read(&path)?, b"{}");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_whole(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes.as_ref())?;
    file.finish()
}

impl WholeFile {
    /// Starts a file.
    ///
    /// # Errors
    ///
    /// Where the name is that of a folder, or its folder is missing or cannot be written to, or
    /// the file that is there may not be written.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                Err(io::Error::new(ErrorKind::IsADirectory, "a folder has this name"))
            }
            Ok(found) if !found.is_file() => {
                let file = File::options().write(true).open(path)?;
                Ok(Self(Place::Direct(BufWriter::new(file))))
            }
            Ok(found) => {
                // A rename needs no permission for the file itself, but who took it away meant it.
                File::options().write(true).open(path)?;
                Self::beside(path.canonicalize()?, Some(found.permissions()))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Self::beside(end_of_links(path)?, None)
            }
            Err(error) => Err(error),
        }
    }

    fn beside(path: PathBuf, permissions: Option<Permissions>) -> io::Result<Self> {
        if path.file_name().is_none() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the path names no file"));
        }
        let file = part::create(parent(&path), permissions)?;
        Ok(Self(Place::Beside { file: BufWriter::new(file), path }))
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    ///
    /// Where the rest cannot be written or the file not be renamed; what was there stays then.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Place::Beside { file, path } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                // Otherwise a crash after the rename could leave an empty file under the name.
                file.as_file().sync_all()?;
                fault::before(Step::Rename);
                file.persist(&path).map_err(|error| error.error)?;
                sync_folder(parent(&path))
            }
            Place::Direct(mut file) => file.flush(),
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Place::Beside { file, .. } => file.write(bytes),
            Place::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Place::Beside { file, .. } => file.flush(),
            Place::Direct(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests;
