//! Published weights by their names.

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};

/// The tensors of a file, each looked at when it is wanted.
pub struct Weights<'a> {
    tensors: SafeTensors<'a>,
    prefix: &'static str,
}

impl<'a> Weights<'a> {
    /// Of a file's bytes.
    pub fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let tensors = SafeTensors::deserialize(bytes)
            .map_err(|error| format!("it is no safetensors file, or a damaged one: {error}"))?;
        Ok(Self { tensors, prefix: "" })
    }

    /// Takes the first prefix under which there is such a tensor: a network with a head of its own
    /// keeps its body under a name.
    pub fn find(&mut self, prefixes: &[&'static str], tensor: &str) -> Result<(), String> {
        let found = prefixes.iter().find(|prefix| self.has(&format!("{prefix}{tensor}")));
        self.prefix = found.ok_or_else(|| format!("it has no tensor `{tensor}`"))?;
        Ok(())
    }

    /// The name of a tensor of the body.
    pub fn body(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The shape of a tensor, where it is there.
    pub fn shape(&self, name: &str) -> Option<Vec<usize>> {
        self.tensors.tensor(name).ok().map(|tensor| tensor.shape().to_vec())
    }

    /// Whether it is there.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok()
    }

    /// The numbers of a tensor of a shape.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let tensor = self.tensors.tensor(name).map_err(|_| format!("it has no tensor `{name}`"))?;
        if tensor.shape() != shape {
            let found = tensor.shape();
            return Err(format!("`{name}` is of shape {found:?}, and config.json says {shape:?}"));
        }
        let bytes = tensor.data();
        match tensor.dtype() {
            Dtype::F32 => Ok(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()),
            Dtype::F16 => {
                Ok(bytes.as_chunks().0.iter().map(|&b| f16::from_le_bytes(b).to_f32()).collect())
            }
            Dtype::BF16 => {
                Ok(bytes.as_chunks().0.iter().map(|&b| bf16::from_le_bytes(b).to_f32()).collect())
            }
            other => {
                Err(format!("`{name}` has numbers of type {other:?}; F32, F16, BF16 are read"))
            }
        }
    }
}
