//! An ONNX file, read and checked before anybody believes it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use prost::Message;
use sngp::memory::check_memory;
use sngp::{Error, Result};

use crate::proto;

/// A protobuf message cannot be larger.
const LARGEST: u64 = i32::MAX as u64;
/// The oldest operators that are read: broadcasting has been as it is since.
const OLDEST: i64 = 8;
/// Copies of a file that are alive at once: the bytes, the messages, the engine's own.
const COPIES: u128 = 4;

/// A graph that can be looked into: one file, named tensors, no graphs inside of it.
#[derive(Clone, Debug)]
pub struct File {
    /// The graph.
    pub graph: proto::Graph,
    /// The operator sets it is written in.
    pub operators: Vec<proto::OperatorSet>,
    /// The version of the file format.
    pub ir_version: i64,
}

impl File {
    /// Reads a file that fits memory.
    pub fn read(path: &Path) -> Result<Self> {
        let found = fs::metadata(path).map_err(Error::io(path))?;
        if !found.is_file() {
            return Err(Error::corrupt(path, "it is no regular file"));
        }
        if found.len() > LARGEST {
            let reason = format!("{} bytes are more than an ONNX file can have", found.len());
            return Err(Error::corrupt(path, reason));
        }
        check_memory(u128::from(found.len()) * COPIES, &path.display().to_string())?;
        let bytes = fs::read(path).map_err(Error::io(path))?;
        Self::from_bytes(&bytes).map_err(|reason| Error::corrupt(path, reason))
    }

    /// Reads a file's bytes; the error is a sentence about it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let model = proto::Model::decode(bytes)
            .map_err(|_| "it is no ONNX file, or a damaged one".to_string())?;
        let proto::Model { graph, opset_import, ir_version, functions, .. } = model;
        let graph = graph
            .filter(|graph| !graph.node.is_empty())
            .ok_or("it is no ONNX file, or one without a graph")?;
        if !functions.is_empty() {
            return Err("it has functions of its own; export it without them".to_string());
        }
        let file = Self { graph, operators: opset_import, ir_version };
        file.check()?;
        Ok(file)
    }

    /// The bytes of a file with this graph.
    pub fn to_bytes(&self) -> Vec<u8> {
        let model = proto::Model {
            ir_version: self.ir_version,
            producer_name: "sngp".to_string(),
            producer_version: env!("CARGO_PKG_VERSION").to_string(),
            graph: Some(self.graph.clone()),
            opset_import: self.operators.clone(),
            ..Default::default()
        };
        model.encode_to_vec()
    }

    /// The version of the standard operators.
    pub fn opset(&self) -> i64 {
        let standard = self.operators.iter().find(|set| is_standard(&set.domain));
        standard.map_or(1, |set| set.version)
    }

    /// Its inputs that are no weights: old files list those too.
    pub fn inputs(&self) -> Vec<&proto::ValueInfo> {
        let weights: HashSet<&str> =
            self.graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
        self.graph.input.iter().filter(|input| !weights.contains(input.name.as_str())).collect()
    }

    fn check(&self) -> Result<(), String> {
        if self.opset() < OLDEST {
            return Err(format!(
                "its operators are of version {}, and {OLDEST} is the oldest that is read; export \
                 it anew",
                self.opset()
            ));
        }
        if !self.graph.sparse_initializer.is_empty() {
            return Err("it has sparse weights, which are not read".to_string());
        }
        let constants = self.graph.node.iter().flat_map(|node| &node.attribute);
        let constants = constants.filter_map(|attribute| attribute.t.as_ref());
        for tensor in self.graph.initializer.iter().chain(constants) {
            check_tensor(tensor)?;
        }
        let weights = self.graph.initializer.iter().map(|tensor| &tensor.name);
        let inputs = self.inputs().into_iter().map(|input| &input.name);
        let mut names: HashSet<&str> = HashSet::new();
        let made = self.graph.node.iter().flat_map(|node| &node.output);
        for name in weights.chain(inputs).chain(made.filter(|name| !name.is_empty())) {
            if !names.insert(name) {
                return Err(format!("two of its tensors are called `{name}`"));
            }
        }
        for node in &self.graph.node {
            let inside = |a: &proto::Attribute| {
                a.g.is_some()
                    || !a.graphs.is_empty()
                    || !a.tensors.is_empty()
                    || a.sparse_tensor.is_some()
                    || !a.sparse_tensors.is_empty()
            };
            if node.attribute.iter().any(inside) {
                let operator = &node.op_type;
                return Err(format!("its operator {operator} holds a graph, which is not read"));
            }
        }
        Ok(())
    }
}

/// Whether a domain is that of the standard operators.
pub fn is_standard(domain: &str) -> bool {
    domain.is_empty() || domain == "ai.onnx"
}

/// Refuses weights that are elsewhere, and those that are fewer or more than they claim.
fn check_tensor(tensor: &proto::Tensor) -> Result<(), String> {
    let name = &tensor.name;
    if tensor.data_location != 0 || !tensor.external_data.is_empty() {
        return Err("its weights are in another file; save it as one file".to_string());
    }
    if tensor.segment.is_some() {
        return Err(format!("`{name}` is a part of a tensor, which is not read"));
    }
    let size = tensor.dims.iter().try_fold(1usize, |size, &dim| {
        usize::try_from(dim).ok().and_then(|dim| size.checked_mul(dim))
    });
    // By ONNX's numbers of element types.
    let bytes = match tensor.data_type {
        2 | 3 | 9 | 17..=20 => 1,
        4 | 5 | 10 | 16 => 2,
        1 | 6 | 12 => 4,
        7 | 11 | 13 => 8,
        other => return Err(format!("`{name}` has elements of type {other}, which is not read")),
    };
    let found = match &tensor.raw_data {
        Some(raw) => (raw.len() % bytes == 0).then_some(raw.len() / bytes),
        None => Some(match tensor.data_type {
            1 => tensor.float_data.len(),
            7 => tensor.int64_data.len(),
            11 => tensor.double_data.len(),
            12 | 13 => tensor.uint64_data.len(),
            _ => tensor.int32_data.len(),
        }),
    };
    if size.is_none() || size != found {
        return Err(format!("`{name}` has not as many numbers as its shape says"));
    }
    Ok(())
}
