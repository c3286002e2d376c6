use half::{bf16, f16};

use super::super::error::{RecordsError, Result};
use super::Stored;
use super::bytes::Bytes;
use super::dtype::Dtype;
use super::place::Place;

/// Values that [`Matrix::check_finite`] looks at in one go.
const BLOCK: usize = 1 << 16;

/// A two-dimensional array of floats, one example per row.
///
/// Rows become 32-bit floats when they are read. The whole is never converted at once, so that a
/// file larger than the memory can be used.
pub struct Matrix {
    place: Place,
    pub(super) bytes: Bytes,
    element: Float,
    rows: usize,
    columns: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Float {
    F16,
    BF16,
    F32,
    F64,
}

impl Matrix {
    pub(super) fn new(place: Place, stored: Stored) -> Result<Self> {
        let Stored { layout, bytes } = stored;
        let element = match layout.dtype {
            Dtype::Float16 => Float::F16,
            Dtype::BFloat16 => Float::BF16,
            Dtype::Float32 => Float::F32,
            Dtype::Float64 => Float::F64,
            other => {
                return Err(place.unusable(format!("it holds {other}"), "convert it to float32"));
            }
        };
        let (rows, columns) = match layout.shape[..] {
            [rows, columns] if rows > 0 && columns > 0 => (rows, columns),
            _ => {
                let found = format!("its shape is {}", layout.shape_text());
                let way_out = "give it two axes, rows and columns, with at least one of each";
                return Err(place.unusable(found, way_out));
            }
        };
        place.check_order(&layout)?;
        Ok(Self { place, bytes, element, rows, columns })
    }

    /// How many rows there are, at least one.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are, at least one.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All values, row by row, where they are stored as 32-bit floats at an aligned address: in the
    /// mapped file, or in memory for a compressed array.
    ///
    /// `None` does not mean that anything is wrong: members of an `.npz` file often start between
    /// two places where floats may lie. Use [`read_rows`](Self::read_rows) then.
    pub fn as_slice(&self) -> Option<&[f32]> {
        if self.element == Float::F32 { self.bytes.as_floats() } else { None }
    }

    /// Puts `count` rows from row `start` on (from 0) into `values`, in place of what is there.
    ///
    /// # Panics
    ///
    /// Where there are fewer rows.
    pub fn read_rows(&self, start: usize, count: usize, values: &mut Vec<f32>) {
        assert!(
            start <= self.rows && count <= self.rows - start,
            "{count} rows from {start} on asked of {}",
            self.rows
        );
        values.clear();
        let (start, end) = (start * self.columns, (start + count) * self.columns);
        let part = |size: usize| &self.bytes.as_slice()[start * size..end * size];
        match self.element {
            Float::F16 => extend(values, part(2), |bytes| f16::from_le_bytes(bytes).to_f32()),
            Float::BF16 => extend(values, part(2), |bytes| bf16::from_le_bytes(bytes).to_f32()),
            Float::F32 => extend(values, part(4), f32::from_le_bytes),
            Float::F64 => extend(values, part(8), |bytes| f64::from_le_bytes(bytes) as f32),
        }
    }

    /// Goes through all values once.
    ///
    /// # Errors
    ///
    /// [`RecordsError::NotFinite`] for the first value that is infinite or not a number, or too
    /// large for 32 bits.
    pub fn check_finite(&self) -> Result<()> {
        let block = (BLOCK / self.columns).max(1);
        let mut values = Vec::new();
        for start in (0..self.rows).step_by(block) {
            self.read_rows(start, block.min(self.rows - start), &mut values);
            if let Some(index) = values.iter().position(|value| !value.is_finite()) {
                return Err(RecordsError::NotFinite {
                    path: self.place.path.clone(),
                    name: self.place.name.clone(),
                    row: start + index / self.columns + 1,
                    column: index % self.columns + 1,
                    value: values[index],
                });
            }
        }
        Ok(())
    }
}

fn extend<const SIZE: usize>(
    values: &mut Vec<f32>,
    bytes: &[u8],
    convert: impl Fn([u8; SIZE]) -> f32,
) {
    let (elements, _) = bytes.as_chunks::<SIZE>();
    values.extend(elements.iter().map(|&element| convert(element)));
}
