use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype as TensorDtype, Metadata};

use super::Stored;
use super::bytes::{Bytes, Mapped};
use super::dtype::{Dtype, Layout};
use super::place::Place;
use crate::error::{RecordsError, Result};

/// The bytes before a `.safetensors` header that hold its length.
const PREFIX: usize = 8;

/// A `.safetensors` file.
pub(super) struct Tensors {
    map: Mapped,
    metadata: Metadata,
    /// Where the elements of the first tensor start.
    data_start: usize,
    names: Vec<String>,
}

impl Tensors {
    pub(super) fn open(path: &Path, map: Mapped) -> Result<Self> {
        let damaged = |cause: String| RecordsError::ArrayFile {
            path: path.to_owned(),
            kind: ".safetensors",
            cause,
        };
        let (header, metadata) =
            SafeTensors::read_metadata(map.bytes()).map_err(|error| damaged(error.to_string()))?;
        let names = metadata.offset_keys();
        match names.is_empty() {
            true => Err(damaged("it holds no tensors".to_owned())),
            false => Ok(Self { map, metadata, data_start: PREFIX + header, names }),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    pub(super) fn load(&self, place: &Place, index: usize) -> Result<Stored> {
        let outside = || place.damaged(0, "its place is not in the file");
        let info = self.metadata.info(&self.names[index]).ok_or_else(outside)?;
        let dtype = match info.dtype {
            TensorDtype::BOOL => Dtype::Bool,
            TensorDtype::I8 => Dtype::Signed(1),
            TensorDtype::I16 => Dtype::Signed(2),
            TensorDtype::I32 => Dtype::Signed(4),
            TensorDtype::I64 => Dtype::Signed(8),
            TensorDtype::U8 => Dtype::Unsigned(1),
            TensorDtype::U16 => Dtype::Unsigned(2),
            TensorDtype::U32 => Dtype::Unsigned(4),
            TensorDtype::U64 => Dtype::Unsigned(8),
            TensorDtype::F16 => Dtype::Float16,
            TensorDtype::BF16 => Dtype::BFloat16,
            TensorDtype::F32 => Dtype::Float32,
            TensorDtype::F64 => Dtype::Float64,
            other => {
                let found = format!("its elements have the type {other:?}");
                return Err(place.unusable(found, "convert it to F32 or an integer type"));
            }
        };
        let (start, end) = info.data_offsets;
        let range = self.data_start.checked_add(start).zip(self.data_start.checked_add(end));
        let bytes = range.and_then(|(start, end)| Bytes::part(&self.map, start..end));
        let bytes = bytes.ok_or_else(outside)?;
        let layout = Layout { dtype, shape: info.shape.clone(), fortran: false };
        match layout.byte_len() == Some(bytes.as_slice().len() as u64) {
            true => Ok(Stored { layout, bytes }),
            false => Err(place.damaged(0, "its length does not go with its shape")),
        }
    }
}
