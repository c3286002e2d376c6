mod byte_array;
mod bytes;
mod dtype;
mod labels;
mod literal;
mod matrix;
mod npy;
mod npz;
mod place;
mod tensors;

use std::path::{Path, PathBuf};

use crate::error::{RecordsError, Result};
use crate::input::open_file;
pub use byte_array::ByteArray;
use bytes::{Bytes, Mapped};
use dtype::Layout;
pub use matrix::Matrix;
use npz::Npz;
use place::Place;
use tensors::Tensors;

/// How large a compressed array may become in memory unless told otherwise: 16 GiB.
pub const DEFAULT_INFLATED_BYTES: u64 = 16 << 30;

/// An array before anything is made of it.
struct Stored {
    layout: Layout,
    bytes: Bytes,
}

/// The arrays of a `.npy`, `.npz` or `.safetensors` file.
///
/// The file is mapped into memory, so that opening it takes no time and arrays that are not
/// compressed take no memory; it must not be changed while it is in use. Python objects in it are
/// never unpickled.
///
/// ```
/// use sngp_records::Arrays;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("features.npy");
/// let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }                  \n";
/// let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
/// bytes.extend((header.len() as u16).to_le_bytes());
/// bytes.extend(header.bytes());
/// bytes.extend([0.5f32, 2.0].iter().flat_map(|value| value.to_le_bytes()));
/// std::fs::write(&path, bytes)?;
///
/// let arrays = Arrays::open(&path)?;
/// assert_eq!(arrays.names(), ["features"]);
/// let matrix = arrays.view2("features")?;
/// assert_eq!((matrix.rows(), matrix.columns()), (1, 2));
/// let mut row = Vec::new();
/// matrix.read_rows(0, 1, &mut row);
/// assert_eq!(row, [0.5, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Arrays {
    path: PathBuf,
    names: Vec<String>,
    container: Container,
    max_inflated: u64,
}

enum Container {
    Npy(Mapped),
    Npz(Npz),
    Tensors(Tensors),
}

/// What an array holds, from its header alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayInfo {
    /// The type of its elements, such as `float32`.
    pub element: String,
    /// Its length along each axis.
    pub shape: Vec<usize>,
}

impl Arrays {
    /// Opens a file in the format its extension names.
    ///
    /// # Errors
    ///
    /// Where the extension is unknown, or the file cannot be read or is not of that format.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with_limit(path, DEFAULT_INFLATED_BYTES)
    }

    /// As [`open`](Self::open), with the most bytes that one compressed array may inflate to.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_with_limit(path: impl AsRef<Path>, max_inflated: u64) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let known = ".npy, .npz, .safetensors";
        if !["npy", "npz", "safetensors"].contains(&extension.as_str()) {
            return Err(RecordsError::UnknownExtension { path, known });
        }
        let map = Mapped::new(&open_file(&path)?)
            .map_err(|cause| RecordsError::Io { path: path.clone(), cause })?;
        let (names, container) = match extension.as_str() {
            "npy" => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                (vec![stem], Container::Npy(map))
            }
            "npz" => {
                let archive = Npz::open(&path, map)?;
                (archive.names(), Container::Npz(archive))
            }
            _ => {
                let tensors = Tensors::open(&path, map)?;
                (tensors.names(), Container::Tensors(tensors))
            }
        };
        let arrays = Self { path, names, container, max_inflated };
        if let Container::Npy(_) = arrays.container {
            // So that a file that is no .npy at all is refused here like the others.
            arrays.layout(&arrays.names[0])?;
        }
        Ok(arrays)
    }

    /// The names of the arrays. The one of an `.npy` file has the file's name, without extension.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What an array holds, without reading it.
    ///
    /// # Errors
    ///
    /// Where there is no such array, or its header is damaged or of an unknown type.
    pub fn info(&self, name: &str) -> Result<ArrayInfo> {
        let layout = self.layout(name)?;
        Ok(ArrayInfo { element: layout.dtype.to_string(), shape: layout.shape })
    }

    /// A two-dimensional array of 16, 32 or 64-bit floats, in C order.
    ///
    /// # Errors
    ///
    /// Where there is no such array, it is damaged or of another kind, or it is compressed and
    /// larger than allowed.
    pub fn view2(&self, name: &str) -> Result<Matrix> {
        Matrix::new(self.place(name), self.load(name)?)
    }

    /// An array of unsigned bytes, such as images, in C order.
    ///
    /// # Errors
    ///
    /// As for [`view2`](Self::view2).
    pub fn bytes(&self, name: &str) -> Result<ByteArray> {
        ByteArray::new(&self.place(name), self.load(name)?)
    }

    /// A one-dimensional array of whole numbers: integers, booleans, or floats without a fraction.
    ///
    /// # Errors
    ///
    /// As for [`view2`](Self::view2), and where a number is not whole or too large.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>> {
        labels::ints(&self.place(name), &self.load(name)?)
    }

    /// A one-dimensional array of strings (numpy's `U` or `S` types).
    ///
    /// # Errors
    ///
    /// As for [`view2`](Self::view2), and where a string is not valid text.
    pub fn strings(&self, name: &str) -> Result<Vec<String>> {
        labels::strings(&self.place(name), &self.load(name)?)
    }

    fn place(&self, name: &str) -> Place {
        Place { path: self.path.clone(), name: name.to_owned() }
    }

    fn index(&self, name: &str) -> Result<usize> {
        let index = self.names.iter().position(|present| present == name);
        index.ok_or_else(|| RecordsError::MissingArray {
            path: self.path.clone(),
            name: name.to_owned(),
            present: self.names.clone(),
        })
    }

    fn layout(&self, name: &str) -> Result<Layout> {
        let (place, index) = (self.place(name), self.index(name)?);
        match &self.container {
            Container::Npy(map) => Ok(npy::read_header(&place, &mut map.bytes())?.layout),
            Container::Npz(archive) => archive.layout(&place, index),
            Container::Tensors(tensors) => Ok(tensors.load(&place, index)?.layout),
        }
    }

    fn load(&self, name: &str) -> Result<Stored> {
        let (place, index) = (self.place(name), self.index(name)?);
        match &self.container {
            Container::Npy(map) => npy::mapped(&place, map, 0..map.bytes().len()),
            Container::Npz(archive) => archive.load(&place, index, self.max_inflated),
            Container::Tensors(tensors) => tensors.load(&place, index),
        }
    }
}

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
