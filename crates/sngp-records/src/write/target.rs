use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::failed;
use crate::error::{RecordsError, Result};
use crate::files::WholeFile;
use crate::format::is_gzip_name;

/// Where a table goes.
pub(super) enum Target {
    File(WholeFile),
    Stream(Box<dyn Write + Send>),
}

impl Target {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let unwritable = |reason| RecordsError::Unwritable { path: path.to_owned(), reason };
        if is_gzip_name(path) {
            return Err(unwritable("compressed output is not supported; drop the .gz"));
        }
        WholeFile::create(path).map(Self::File).map_err(|cause| match cause.kind() {
            ErrorKind::IsADirectory => unwritable("a folder has this name; give that of a file"),
            _ => failed(path, cause),
        })
    }

    /// Flushes what someone may be waiting for.
    pub(super) fn end_batch(&mut self) -> io::Result<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Stream(stream) => stream.flush(),
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::File(file) => file.finish(),
            Self::Stream(mut stream) => stream.flush(),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stream(stream) => stream.flush(),
        }
    }
}
