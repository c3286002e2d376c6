//! Small arrays saved with a model.

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use sngp::{Error, Result};

/// Named arrays of f32, f64 and u64, on their way to and from a safetensors file.
#[derive(Default)]
pub(crate) struct NamedArrays(Vec<(&'static str, Dtype, Vec<usize>, Vec<u8>)>);

impl NamedArrays {
    pub fn put_f32(&mut self, name: &'static str, shape: Vec<usize>, values: &[f32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.0.push((name, Dtype::F32, shape, bytes));
    }

    pub fn put_f64(&mut self, name: &'static str, values: &[f64]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.0.push((name, Dtype::F64, vec![values.len()], bytes));
    }

    pub fn put_u64(&mut self, name: &'static str, values: &[u64]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.0.push((name, Dtype::U64, vec![values.len()], bytes));
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let views = self.0.iter().map(|(name, dtype, shape, bytes)| {
            TensorView::new(*dtype, shape.clone(), bytes).map(|view| (*name, view))
        });
        let views: std::result::Result<Vec<_>, _> = views.collect();
        views
            .and_then(|views| safetensors::serialize(views, None))
            .map_err(|error| Error::Data(format!("arrays cannot be written: {error}")))
    }
}

/// The same arrays as they were read.
pub(crate) struct ReadArrays<'a> {
    file: &'static str,
    tensors: SafeTensors<'a>,
}

impl<'a> ReadArrays<'a> {
    pub fn new(file: &'static str, bytes: &'a [u8]) -> Result<Self> {
        let tensors = SafeTensors::deserialize(bytes)
            .map_err(|error| Error::Data(format!("{file}: not a safetensors file: {error}")))?;
        Ok(Self { file, tensors })
    }

    pub fn f32(&self, name: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        let (shape, bytes) = self.view(name, Dtype::F32)?;
        let values: Vec<f32> =
            bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return Err(self.wrong(name, "has values that are not finite"));
        }
        Ok((shape, values))
    }

    pub fn f64(&self, name: &str) -> Result<Vec<f64>> {
        let (_, bytes) = self.view(name, Dtype::F64)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect())
    }

    pub fn u64(&self, name: &str) -> Result<Vec<u64>> {
        let (_, bytes) = self.view(name, Dtype::U64)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect())
    }

    fn view(&self, name: &str, dtype: Dtype) -> Result<(Vec<usize>, Vec<u8>)> {
        let view = self.tensors.tensor(name).map_err(|_| self.wrong(name, "is missing"))?;
        if view.dtype() != dtype {
            return Err(self.wrong(name, "has another type"));
        }
        Ok((view.shape().to_vec(), view.data().to_vec()))
    }

    pub fn wrong(&self, name: &str, what: &str) -> Error {
        Error::Data(format!("{}: `{name}` {what}", self.file))
    }
}
