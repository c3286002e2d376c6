use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::address::is_address;
use crate::error::{RecordsError, Result};
use crate::format::is_gzip_name;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The most bytes one row may have, so that a file without line ends, or a quote that is never
/// closed, ends in an error before it ends in full memory.
pub(super) const MAX_ROW_BYTES: usize = 64 << 20;

pub(super) type Stream = Box<dyn Read + Send>;

/// Where bytes come from, for messages.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) path: PathBuf,
    compressed: bool,
}

impl Origin {
    /// The error for a failed read while row `row`, from 1, was wanted.
    pub(super) fn read_error(&self, row: usize, cause: io::Error) -> RecordsError {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        let path = self.path.clone();
        let is_damage = matches!(cause.kind(), InvalidData | InvalidInput | UnexpectedEof);
        match self.compressed && is_damage {
            true => RecordsError::Gzip { path, row, cause },
            false => RecordsError::Io { path, cause },
        }
    }
}

/// The bytes of a table, uncompressed.
pub(super) struct Input {
    pub(super) origin: Origin,
    pub(super) stream: Stream,
}

impl Input {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = open_file(path)?;
        if is_gzip_name(path) {
            return Ok(Self::compressed(path, file));
        }
        Self::from_stream(path, Box::new(file))
    }

    /// Compressed or not, as the first bytes say: no text starts with those of gzip.
    pub(super) fn from_stream(name: &Path, mut stream: Stream) -> Result<Self> {
        let origin = Origin { path: name.to_owned(), compressed: false };
        let mut start = Vec::new();
        let limit = GZIP_MAGIC.len() as u64;
        let read = stream.by_ref().take(limit).read_to_end(&mut start);
        read.map_err(|cause| origin.read_error(1, cause))?;
        let is_gzip = start == GZIP_MAGIC;
        let whole = Cursor::new(start).chain(stream);
        match is_gzip {
            true => Ok(Self::compressed(name, whole)),
            false => Ok(Self { origin, stream: Box::new(whole) }),
        }
    }

    fn compressed(name: &Path, stream: impl Read + Send + 'static) -> Self {
        let origin = Origin { path: name.to_owned(), compressed: true };
        // A gzip file may hold several parts one after another, as `cat a.gz b.gz` makes.
        Self { origin, stream: Box::new(MultiGzDecoder::new(stream)) }
    }
}

/// A file, or what an address in object storage names, in a temporary one.
pub(super) fn open_file(path: &Path) -> Result<File> {
    if is_address(path) {
        #[cfg(feature = "remote")]
        return crate::remote::fetch(path);
        #[cfg(not(feature = "remote"))]
        return Err(RecordsError::NotBuilt {
            path: path.to_owned(),
            format: "addresses in object storage",
            feature: "remote",
        });
    }
    File::open(path).map_err(|cause| RecordsError::Io { path: path.to_owned(), cause })
}

/// The bytes of a stream in a temporary file without a name.
pub(super) fn spool(name: &Path, mut reader: impl Read) -> Result<File> {
    let copied = tempfile::tempfile().and_then(|mut file| {
        io::copy(&mut reader, &mut file)?;
        Ok(file)
    });
    copied.map_err(|cause| RecordsError::Io { path: name.to_owned(), cause })
}
