//! Parameters and matrices as safetensors.

use std::collections::BTreeMap;
use std::path::Path;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{DType, Tensor, TensorData};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::module_path::ModulePath;
use crate::posterior::{Curvature, FeatureMapHash, Precision};
use crate::{Error, Result};

/// Named arrays of f32, f64 or bytes, in the order of their names.
#[derive(Debug, Default)]
pub(crate) struct Tensors {
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Entry {
    /// The transposed matrix.
    fn turned(self, name: &str) -> Result<Self> {
        let [rows, columns] = self.shape[..] else {
            let what = format!("tensor `{name}`, to be transposed");
            return Err(Error::shape(what, "2 axes", self.shape.len()));
        };
        let size = self.bytes.len() / (rows * columns).max(1);
        let mut bytes = Vec::with_capacity(self.bytes.len());
        for column in 0..columns {
            for row in 0..rows {
                bytes.extend_from_slice(&self.bytes[(row * columns + column) * size..][..size]);
            }
        }
        Ok(Self { shape: vec![columns, rows], bytes, ..self })
    }
}

/// How large the tensors of a file are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub axis: usize,
    pub tensors: usize,
    pub numbers: usize,
}

/// What a precision needs beside its matrices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrecisionInfo {
    pub rows: u64,
    pub curvature: Curvature,
    pub feature_map: String,
    pub averaged: bool,
}

impl PrecisionInfo {
    pub fn of(precision: &Precision) -> Self {
        Self {
            rows: precision.rows(),
            curvature: precision.curvature(),
            feature_map: precision.hash().to_string(),
            averaged: precision.is_average(),
        }
    }

    fn hash(&self) -> Option<FeatureMapHash> {
        let hex = self.feature_map.as_bytes();
        if hex.len() != 64 {
            return None;
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(hex.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(FeatureMapHash(hash))
    }
}

impl Tensors {
    /// Adds f64 values.
    pub fn put_f64(&mut self, name: &str, shape: Vec<usize>, values: &[f64]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.entries.insert(name.to_string(), Entry { dtype: Dtype::F64, shape, bytes });
    }

    /// Adds plain bytes.
    pub fn put_bytes(&mut self, name: &str, bytes: Vec<u8>) {
        let shape = vec![bytes.len()];
        self.entries.insert(name.to_string(), Entry { dtype: Dtype::U8, shape, bytes });
    }

    /// Adds a device tensor as f32.
    pub fn put_tensor<const D: usize>(&mut self, name: &str, tensor: Tensor<D>) {
        let shape = tensor.dims().to_vec();
        let data = tensor.into_data().convert_dtype(DType::F32);
        let bytes = data.iter::<f32>().flat_map(|value| value.to_le_bytes()).collect();
        self.entries.insert(name.to_string(), Entry { dtype: Dtype::F32, shape, bytes });
    }

    /// Adds every parameter of a module under `prefix`.
    pub fn put_module(&mut self, prefix: &str, module: &impl Module) {
        module.visit(&mut Collect { tensors: self, path: ModulePath::below(prefix) });
    }

    /// Adds a precision, packed.
    pub fn put_precision(&mut self, name: &str, precision: &Precision) {
        let shape =
            vec![precision.matrices(), precision.dimension() * (precision.dimension() + 1) / 2];
        self.put_f64(name, shape, &precision.packed());
    }

    /// The bytes of the safetensors file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let views = self.entries.iter().map(|(name, entry)| {
            TensorView::new(entry.dtype, entry.shape.clone(), &entry.bytes).map(|v| (name, v))
        });
        views
            .collect::<Result<Vec<_>, _>>()
            .and_then(|views| safetensors::serialize(views, None))
            .map_err(|error| Error::Data(format!("the tensors cannot be serialised: {error}")))
    }

    /// Reads a safetensors file.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self> {
        let file = SafeTensors::deserialize(bytes)
            .map_err(|error| Error::corrupt(path, format!("not a safetensors file: {error}")))?;
        let entry = |view: TensorView<'_>| Entry {
            dtype: view.dtype(),
            shape: view.shape().to_vec(),
            bytes: view.data().to_vec(),
        };
        let entries = file.tensors().into_iter().map(|(name, view)| (name, entry(view)));
        Ok(Self { entries: entries.collect() })
    }

    /// The same tensors under other names, matrices turned where that is asked for; what has no
    /// name is dropped.
    pub fn renamed(self, name: impl Fn(&str) -> Option<(String, bool)>) -> Result<Self> {
        let mut renamed = Self::default();
        for (old, entry) in self.entries {
            let Some((new, turned)) = name(&old) else { continue };
            let entry = if turned { entry.turned(&old)? } else { entry };
            if renamed.entries.insert(new.clone(), entry).is_some() {
                return Err(Error::Data(format!(
                    "`{old}` and another tensor are both `{new}` here"
                )));
            }
        }
        Ok(renamed)
    }

    /// Takes f64 values and their shape.
    pub fn take_f64(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f64>)> {
        let entry = self.take(name)?;
        let values = match entry.dtype {
            Dtype::F64 => numbers::<8, f64>(&entry.bytes, f64::from_le_bytes),
            other => return Err(wrong_type(name, other)),
        };
        Ok((entry.shape, values))
    }

    /// Takes plain bytes.
    pub fn take_bytes(&mut self, name: &str) -> Result<Vec<u8>> {
        let entry = self.take(name)?;
        match entry.dtype {
            Dtype::U8 => Ok(entry.bytes),
            other => Err(wrong_type(name, other)),
        }
    }

    /// The largest axis of all tensors, how many tensors there are, and how many numbers in all.
    pub fn extent(&self) -> Extent {
        let axes = self.entries.values().flat_map(|entry| entry.shape.iter().copied());
        let numbers = self.entries.values().map(|entry| entry.shape.iter().product::<usize>());
        Extent {
            axis: axes.max().unwrap_or(0),
            tensors: self.entries.len(),
            numbers: numbers.sum(),
        }
    }

    /// Whether there is a tensor of a name.
    pub fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Whether there is a tensor of a module.
    pub fn contains_below(&self, prefix: &str) -> bool {
        let inside = |name: &String| name.strip_prefix(prefix).is_some_and(|n| n.starts_with('.'));
        self.entries.keys().any(inside)
    }

    /// Takes values and their shape as f32; the half precisions of published weights are widened.
    pub fn take_f32(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        let entry = self.take(name)?;
        let widened = |dtype| {
            let data =
                TensorData::from_bytes_vec(entry.bytes.clone(), [entry.bytes.len() / 2], dtype);
            data.iter::<f32>().collect()
        };
        let values: Vec<f32> = match entry.dtype {
            Dtype::F32 => numbers::<4, f32>(&entry.bytes, f32::from_le_bytes),
            Dtype::F16 => widened(DType::F16),
            Dtype::BF16 => widened(DType::BF16),
            other => return Err(wrong_type(name, other)),
        };
        match values.iter().all(|value| value.is_finite()) {
            true => Ok((entry.shape, values)),
            false => Err(Error::Data(format!("tensor `{name}` has non-finite values"))),
        }
    }

    /// Takes a precision of known dimension.
    pub fn take_precision(&mut self, name: &str, info: &PrecisionInfo) -> Result<Precision> {
        let (shape, values) = self.take_f64(name)?;
        let [matrices, packed] = shape[..] else {
            return Err(Error::shape(format!("tensor `{name}`"), "2 axes", shape.len()));
        };
        // The inverse of D (D + 1) / 2.
        let dimension = ((((8 * packed + 1) as f64).sqrt() - 1.0) / 2.0).round() as usize;
        let hash = info
            .hash()
            .ok_or_else(|| Error::Data("the feature map's hash is not a SHA-256".to_string()))?;
        Precision::from_packed(
            &values,
            dimension,
            matrices,
            info.rows,
            info.curvature,
            hash,
            info.averaged,
        )
    }

    /// Replaces every parameter of a module by the one saved under `prefix`.
    pub fn take_module<M: Module>(&mut self, prefix: &str, module: M) -> Result<M> {
        let mut assign = Assign { tensors: self, path: ModulePath::below(prefix), error: None };
        let module = module.map(&mut assign);
        match assign.error {
            Some(error) => Err(error),
            None => Ok(module),
        }
    }

    /// Refuses what nobody took.
    pub fn finish(self) -> Result<()> {
        match self.entries.keys().next() {
            None => Ok(()),
            Some(name) => Err(Error::Data(format!("tensor `{name}` does not belong to the model"))),
        }
    }

    fn take(&mut self, name: &str) -> Result<Entry> {
        let missing = || Error::Data(format!("tensor `{name}` is missing"));
        self.entries.remove(name).ok_or_else(missing)
    }
}

fn numbers<const N: usize, T>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|chunk| from(*chunk)).collect()
}

fn wrong_type(name: &str, dtype: Dtype) -> Error {
    Error::Data(format!("tensor `{name}` has type {dtype:?}, which does not belong there"))
}

struct Collect<'a> {
    tensors: &'a mut Tensors,
    path: ModulePath,
}

impl ModuleVisitor for Collect<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _: &str, container: &str) {
        self.path.exit(container);
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.tensors.put_tensor(&self.path.joined(), param.val());
    }
}

struct Assign<'a> {
    tensors: &'a mut Tensors,
    path: ModulePath,
    error: Option<Error>,
}

impl ModuleMapper for Assign<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _: &str, container: &str) {
        self.path.exit(container);
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.joined();
        let expected = param.lazy_shape();
        match self.tensors.take_f32(&name) {
            Ok((shape, values)) if shape == expected.to_vec() => {
                let device = param.lazy_device();
                let value = Tensor::from_data(TensorData::new(values, shape), &device);
                // Not `map`, which would first draw a weight that was never drawn.
                let id = param.id;
                param.transform_for_load(value, id)
            }
            Ok((shape, _)) => {
                let what = format!("tensor `{name}`");
                let error = Error::shape(what, format!("{expected:?}"), format!("{shape:?}"));
                self.error.get_or_insert(error);
                param
            }
            Err(error) => {
                self.error.get_or_insert(error);
                param
            }
        }
    }
}
