use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use memmap2::Mmap;

/// A file mapped into memory, shared by all that is read from it.
#[derive(Clone)]
pub(super) struct Mapped(Arc<Mmap>);

impl Mapped {
    pub(super) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the map is only read, and every value of its bytes is valid. What is left is
        // that another process changes the file meanwhile, which the documentation of `Arrays`
        // rules out as all programs that map files do.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self(Arc::new(map)))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// The bytes of one array.
pub(super) enum Bytes {
    Mapped { map: Mapped, range: Range<usize> },
    Inflated(Vec<u8>),
}

impl Bytes {
    /// A part of the file; `None` where the file does not reach that far.
    pub(super) fn part(map: &Mapped, range: Range<usize>) -> Option<Self> {
        map.bytes().get(range.clone())?;
        Some(Self::Mapped { map: map.clone(), range })
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Mapped { map, range } => &map.bytes()[range.clone()],
            Self::Inflated(bytes) => bytes,
        }
    }

    /// The bytes as the floats they hold, where this machine can read them in place.
    pub(super) fn as_floats(&self) -> Option<&[f32]> {
        // SAFETY: every pattern of four bytes is a valid `f32`.
        let (before, floats, after) = unsafe { self.as_slice().align_to::<f32>() };
        let in_place = before.is_empty() && after.is_empty() && cfg!(target_endian = "little");
        in_place.then_some(floats)
    }
}
