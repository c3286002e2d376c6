use std::path::Path;

use super::error::{ImageError, Result};

/// A walk through the bytes of a file that knows where it is.
pub(super) struct Bytes<'a> {
    pub(super) path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Self { path, bytes, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `needed` bytes, which hold `what`.
    pub(super) fn take(&mut self, needed: usize, what: &'static str) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..needed).ok_or_else(|| ImageError::Truncated {
            path: self.path.to_owned(),
            offset: self.at as u64,
            what,
            needed: needed as u64,
            found: rest.len() as u64,
        })?;
        self.at += needed;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    /// Up to `count` bytes of padding; that at the end of a file may be missing.
    pub(super) fn skip_padding(&mut self, count: usize) {
        self.at += count.min(self.rest());
    }

    /// Refuses what follows the end.
    pub(super) fn finish(&self) -> Result<()> {
        match self.rest() {
            0 => Ok(()),
            rest => Err(malformed(self.path, self.at, format!("{rest} more bytes"), "the end")),
        }
    }
}

/// Checks a label read at `offset`.
pub(super) fn check_label(path: &Path, offset: usize, label: i64, classes: usize) -> Result<usize> {
    let class = usize::try_from(label).ok().filter(|&class| class < classes);
    class.ok_or_else(|| label_error(path, offset, label, classes))
}

pub(super) fn label_error(path: &Path, offset: usize, label: i64, classes: usize) -> ImageError {
    ImageError::LabelOutOfRange { path: path.to_owned(), offset: offset as u64, label, classes }
}

pub(super) fn malformed(
    path: &Path,
    offset: usize,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> ImageError {
    ImageError::Malformed {
        path: path.to_owned(),
        offset: offset as u64,
        found: found.into(),
        expected: expected.into(),
    }
}
