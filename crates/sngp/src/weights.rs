//! Weights that others trained, under the names they gave them.
//!
//! A [`KeyMap`] says what a published name is called here; [`PublishedWeights`] reads a safetensors
//! file by it and fills a module. Every parameter has to be found, and everything found has to
//! belong somewhere: a network that is half its own and half random is never made.
//!
//! ```no_run
//! use burn::tensor::Device;
//! use sngp::backbone::{Backbone, ResNet, ResNetConfig};
//! use sngp::weights::{KeyMap, PublishedWeights};
//!
//! let network = ResNet::build(&ResNetConfig::default(), &Device::flex())?;
//! let mut weights = PublishedWeights::read("resnet20.safetensors", &KeyMap::resnet())?;
//! let network = weights.fill("backbone", network)?;
//! let output = burn::nn::LinearConfig::new(64, 10).init(&Device::flex());
//! let output = weights.fill("head", output)?;
//! weights.finish()?;
//! # Ok::<(), sngp::Error>(())
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use burn::module::Module;
use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::model::tensors::Tensors;
use crate::{Error, Result};

/// What names that match a pattern are called here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRule {
    /// A regular expression.
    pub from: String,
    /// What replaces the part of the name that it matches; `$1` is its first group, `${1}` before a
    /// letter or digit. The name `-` drops the tensor.
    pub to: String,
    /// Whether the matrix is to be turned: dense layers are `[outputs, inputs]` in PyTorch and
    /// `[inputs, outputs]` here.
    #[serde(default)]
    pub transpose: bool,
}

impl KeyRule {
    fn new(from: &str, to: &str) -> Self {
        Self { from: from.to_string(), to: to.to_string(), transpose: false }
    }
}

/// Rules that are applied to every name one after the other. What comes out is the path of a
/// parameter: that of a module, behind the name of the part it is filled as.
///
/// ```
/// use sngp::weights::KeyMap;
///
/// let map = KeyMap::resnet();
/// assert_eq!(map.name("layer2.0.bn1.weight")?, "backbone.layer2.0.norm1.norm.gamma");
/// assert_eq!(map.name("linear.bias")?, "head.bias");
/// assert_eq!(KeyMap::own().name("members.0.head.Dense.bias")?, "head.bias");
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyMap {
    /// The rules, in their order.
    pub rules: Vec<KeyRule>,
}

const DROPPED: &str = "-";

impl KeyMap {
    /// PyTorch's usual names of CIFAR's ResNets, as in the weights of Idelbayev's
    /// `pytorch_resnet_cifar10`.
    pub fn resnet() -> Self {
        let turned =
            KeyRule { transpose: true, ..KeyRule::new(r"^linear\.weight$", "head.weight") };
        Self {
            rules: vec![
                KeyRule::new(r"^module\.", ""),
                KeyRule::new(r".*\.num_batches_tracked$", DROPPED),
                KeyRule::new(r"^conv1\.", "backbone.first.conv."),
                KeyRule::new(r"^bn1\.", "backbone.norm.norm."),
                KeyRule::new(r"^(layer\d\.\d+)\.conv(\d)\.", "backbone.$1.conv$2.conv."),
                KeyRule::new(r"^(layer\d\.\d+)\.bn(\d)\.", "backbone.$1.norm$2.norm."),
                KeyRule::new(r"\.norm\.weight$", ".norm.gamma"),
                KeyRule::new(r"\.norm\.bias$", ".norm.beta"),
                turned,
                KeyRule::new(r"^linear\.", "head."),
            ],
        }
    }

    /// The names of a model folder of ours, the first network of an ensemble's.
    pub fn own() -> Self {
        Self {
            rules: vec![
                KeyRule::new(r"^members\.0\.", ""),
                KeyRule::new(r"^(members\.\d+|spectral|posterior)\..*|^log_noise$", DROPPED),
                KeyRule::new(r"^head\.Dense\.", "head."),
            ],
        }
    }

    /// Refuses patterns that are none.
    pub fn check(&self) -> Result<()> {
        self.compiled().map(drop)
    }

    /// The name something published has here.
    pub fn name(&self, published: &str) -> Result<String> {
        Ok(self.compiled()?.name(published).0)
    }

    fn compiled(&self) -> Result<Compiled<'_>> {
        fn compile(rule: &KeyRule) -> Result<(Regex, &KeyRule)> {
            let bad =
                |error| Error::config("from", &rule.from, format!("it is no pattern: {error}"));
            Ok((Regex::new(&rule.from).map_err(bad)?, rule))
        }
        Ok(Compiled(self.rules.iter().map(compile).collect::<Result<_>>()?))
    }
}

struct Compiled<'a>(Vec<(Regex, &'a KeyRule)>);

impl Compiled<'_> {
    /// The name, and whether the tensor is to be turned.
    fn name(&self, published: &str) -> (String, bool) {
        let start = (published.to_string(), false);
        self.0.iter().fold(start, |(name, turned), (pattern, rule)| match pattern.is_match(&name) {
            true => (pattern.replace(&name, &rule.to).into_owned(), turned || rule.transpose),
            false => (name, turned),
        })
    }
}

/// The tensors of a file, under our names.
#[derive(Debug)]
pub struct PublishedWeights {
    path: PathBuf,
    tensors: Tensors,
}

impl PublishedWeights {
    /// Reads a safetensors file and renames what is in it.
    pub fn read(path: impl AsRef<Path>, map: &KeyMap) -> Result<Self> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(Error::io(path))?;
        let compiled = map.compiled()?;
        let tensors = Tensors::from_bytes(path, &bytes)?
            .renamed(|name| match compiled.name(name) {
                (name, _) if name == DROPPED => None,
                found => Some(found),
            })
            .map_err(|error| Error::corrupt(path, error.to_string()))?;
        Ok(Self { path: path.to_path_buf(), tensors })
    }

    /// A module with all of its parameters taken from below `part`.
    pub fn fill<M: Module>(&mut self, part: &str, module: M) -> Result<M> {
        let filled = self.tensors.take_module(part, module);
        filled.map_err(|error| Error::corrupt(&self.path, error.to_string()))
    }

    /// Refuses tensors that nothing was filled with.
    pub fn finish(self) -> Result<()> {
        self.tensors.finish().map_err(|error| Error::corrupt(&self.path, error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::{Device, Tensor};

    use super::*;

    fn turned(to: &str) -> KeyMap {
        let rule = KeyRule::new("^fc", to);
        let weight = KeyRule { transpose: true, ..KeyRule::new("weight$", "weight") };
        KeyMap { rules: vec![rule, weight] }
    }

    fn file(folder: &Path) -> PathBuf {
        let mut tensors = Tensors::default();
        let device = Device::flex();
        let weight = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &device);
        tensors.put_tensor("fc.weight", weight);
        tensors.put_tensor("fc.bias", Tensor::<1>::from_floats([7.0, 8.0], &device));
        let path = folder.join("published.safetensors");
        fs::write(&path, tensors.to_bytes().unwrap()).unwrap();
        path
    }

    fn dense() -> Linear {
        LinearConfig::new(3, 2).init(&Device::flex())
    }

    #[test]
    fn a_turned_matrix_gives_what_its_publisher_meant() {
        let folder = tempfile::tempdir().unwrap();
        let mut weights = PublishedWeights::read(file(folder.path()), &turned("head")).unwrap();
        let layer = weights.fill("head", dense()).unwrap();
        weights.finish().unwrap();
        let output = layer.forward(Tensor::<2>::from_floats([[1.0, 10.0, 100.0]], &Device::flex()));
        assert_eq!(output.into_data().try_to_vec::<f32>().unwrap(), [328.0, 662.0]);
    }

    #[test]
    fn what_is_missing_left_over_or_doubled_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path());
        let mut weights = PublishedWeights::read(&path, &turned("tail")).unwrap();
        let error = weights.fill("head", dense()).unwrap_err().to_string();
        assert!(error.contains("head.weight") && error.contains("published"), "{error}");
        let error = weights.finish().unwrap_err().to_string();
        assert!(error.contains("tail."), "{error}");
        let all = KeyMap { rules: vec![KeyRule::new(".*", "one")] };
        let error = PublishedWeights::read(&path, &all).unwrap_err().to_string();
        assert!(error.contains("`one`"), "{error}");
        let bad = KeyMap { rules: vec![KeyRule::new("(", "")] };
        assert!(PublishedWeights::read(&path, &bad).is_err());
    }
}
