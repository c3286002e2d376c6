use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::super::error::{RecordsError, Result};
use super::super::format::is_gzip_name;
use super::failed;

/// Where a table goes.
pub(super) enum Target {
    /// A temporary file beside the final one, removed on drop, renamed at the end.
    File {
        file: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
    Stream(Box<dyn Write + Send>),
}

impl Target {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let unwritable = |reason| RecordsError::Unwritable { path: path.to_owned(), reason };
        if is_gzip_name(path) {
            return Err(unwritable("compressed output is not supported; drop the .gz"));
        }
        let Some(name) = path.file_name() else {
            return Err(unwritable("it names no file"));
        };
        let prefix = format!(".{}.", name.to_string_lossy());
        // Renaming would replace a device, or a link in place of the file that it leads to.
        let path = match fs::metadata(path) {
            Ok(found) if !found.is_file() => {
                return Err(unwritable("it is no regular file; use - for standard output"));
            }
            Ok(_) => path.canonicalize().map_err(|cause| failed(path, cause))?,
            Err(_) => path.to_owned(),
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Temporary files are private by default, and the final file would stay so. The
            // process's own mask is still applied.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")));
        let file = BufWriter::new(file.map_err(|cause| failed(&path, cause))?);
        Ok(Self::File { file, path })
    }

    /// Flushes what someone may be waiting for.
    pub(super) fn end_batch(&mut self) -> io::Result<()> {
        match self {
            Self::File { .. } => Ok(()),
            Self::Stream(stream) => stream.flush(),
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::File { file, path } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                // Otherwise a crash after the rename could leave an empty file under the name.
                file.as_file().sync_all()?;
                file.persist(path).map(drop).map_err(|error| error.error)
            }
            Self::Stream(mut stream) => stream.flush(),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File { file, .. } => file.write(bytes),
            Self::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File { file, .. } => file.flush(),
            Self::Stream(stream) => stream.flush(),
        }
    }
}
