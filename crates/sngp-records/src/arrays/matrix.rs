use half::{bf16, f16};

use super::Stored;
use super::bytes::Bytes;
use super::dtype::Dtype;
use super::place::Place;
use crate::error::{RecordsError, Result};
use crate::records::MEMORY;

/// Values that [`Matrix::check_finite`] looks at in one go.
const BLOCK: usize = 1 << 16;

/// A two-dimensional array of floats, one example per row.
///
/// Rows become 32-bit floats when they are read. The whole is never converted at once, so that a
/// file larger than the memory can be used.
pub struct Matrix {
    place: Place,
    pub(super) values: Values,
    rows: usize,
    columns: usize,
}

pub(super) enum Values {
    Stored { bytes: Bytes, element: Float },
    Memory(Vec<f32>),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Float {
    F16,
    BF16,
    F32,
    F64,
}

impl Matrix {
    /// A matrix of values that are in memory already, row by row.
    ///
    /// # Errors
    ///
    /// [`RecordsError::UnusableArray`] where there are no rows or no columns, or not as many
    /// values as that makes.
    ///
    /// ```
    /// use sngp_records::Matrix;
    ///
    /// let matrix = Matrix::from_memory(2, 3, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
    /// let mut row = Vec::new();
    /// matrix.read_rows(1, 1, &mut row);
    /// assert_eq!(row, [3.0, 4.0, 5.0]);
    /// assert!(Matrix::from_memory(2, 2, vec![0.0]).is_err());
    /// # Ok::<(), sngp_records::RecordsError>(())
    /// ```
    pub fn from_memory(rows: usize, columns: usize, values: Vec<f32>) -> Result<Self> {
        let place = Place { path: MEMORY.into(), name: "values".to_owned() };
        if rows == 0 || columns == 0 || rows.checked_mul(columns) != Some(values.len()) {
            let found = format!("{} values for {rows} rows of {columns}", values.len());
            return Err(place.unusable(found, "give at least one row and all of its values"));
        }
        Ok(Self { place, values: Values::Memory(values), rows, columns })
    }

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
        Ok(Self { place, values: Values::Stored { bytes, element }, rows, columns })
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
    /// mapped file, or in memory for a compressed array and for values that were there.
    ///
    /// `None` does not mean that anything is wrong: members of an `.npz` file often start between
    /// two places where floats may lie. Use [`read_rows`](Self::read_rows) then.
    pub fn as_slice(&self) -> Option<&[f32]> {
        match &self.values {
            Values::Stored { bytes, element: Float::F32 } => bytes.as_floats(),
            Values::Stored { .. } => None,
            Values::Memory(values) => Some(values),
        }
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
        let (bytes, element) = match &self.values {
            Values::Stored { bytes, element } => (bytes.as_slice(), *element),
            Values::Memory(all) => return values.extend_from_slice(&all[start..end]),
        };
        let part = |size: usize| &bytes[start * size..end * size];
        match element {
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
