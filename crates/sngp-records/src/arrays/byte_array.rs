use super::Stored;
use super::bytes::Bytes;
use super::dtype::{Dtype, Layout};
use super::place::Place;
use crate::error::Result;

/// An array of unsigned bytes with any number of axes, the last one varying fastest.
pub struct ByteArray {
    layout: Layout,
    bytes: Bytes,
}

impl ByteArray {
    pub(super) fn new(place: &Place, stored: Stored) -> Result<Self> {
        let Stored { layout, bytes } = stored;
        if layout.dtype != Dtype::Unsigned(1) {
            let found = format!("it holds {}", layout.dtype);
            return Err(place.unusable(found, "convert it to uint8"));
        }
        place.check_order(&layout)?;
        Ok(Self { layout, bytes })
    }

    /// Its length along each axis.
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// All of it; where the file is mapped, only what is looked at is read.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}
