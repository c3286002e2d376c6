//! How large every tensor of a graph becomes, told before anything is computed.
//!
//! An engine allocates what a graph asks for, and a file of a kilobyte can ask for a terabyte. So
//! every shape is inferred first, by the rules of `rten-shape-inference`; a tensor whose size nobody
//! can tell, or is beyond sense, is a reason to refuse the file.

mod rules;
mod tables;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rten_shape_inference::{SymExpr, SymTensor, SymbolGen};
use sngp::memory::check_memory;

use self::rules::{is_known, of_node};
use self::tables::Tables;
use crate::file::File;
use crate::proto::Tensor;

/// Elements a tensor has at the most, for one row.
const MOST: u128 = 1 << 28;
/// Longer lists of integers are known by their length only.
const LISTED: usize = 4096;

/// The shapes of a graph's tensors, those that can be told.
pub struct Shapes {
    known: HashMap<String, Vec<usize>>,
    /// Of the largest tensor that is computed.
    pub largest: usize,
}

impl Shapes {
    /// Infers the shapes of what comes of inputs of these shapes.
    pub fn infer(file: &File, inputs: &[(String, Vec<usize>)]) -> Result<Self, String> {
        // Rules that are given nonsense may panic.
        catch_unwind(AssertUnwindSafe(|| inferred(file, inputs)))
            .map_err(|_| "its shapes contradict each other".to_string())
    }

    /// The shape of a tensor.
    pub fn of(&self, name: &str) -> Option<&[usize]> {
        self.known.get(name).map(Vec::as_slice)
    }

    /// Refuses a graph with a tensor of unknown size, or one beyond sense.
    pub fn check(&self, file: &File) -> Result<(), String> {
        let mut constants: HashMap<&str, bool> =
            file.graph.initializer.iter().map(|tensor| (tensor.name.as_str(), true)).collect();
        let mut kept = 0u128;
        for node in &file.graph.node {
            let given = node.input.iter().filter(|name| !name.is_empty());
            let constant = given.clone().all(|name| constants.get(name.as_str()) == Some(&true));
            for name in node.output.iter().filter(|name| !name.is_empty()) {
                let Some(shape) = self.of(name) else {
                    let what = format!("`{name}`, made by the operator {}", node.op_type);
                    return Err(match is_known(node) {
                        true => format!("nobody can tell how large {what}, becomes"),
                        false => format!("{what}, cannot be computed: it is not supported"),
                    });
                };
                let size = shape.iter().try_fold(1u128, |size, &dim| size.checked_mul(dim as u128));
                let size = size.filter(|size| *size <= MOST).ok_or_else(|| {
                    format!(
                        "`{name}`, made by the operator {}, is of shape {shape:?}",
                        node.op_type
                    )
                })?;
                // The engine computes what is constant once, and keeps all of it.
                kept += if constant { 4 * size } else { 0 };
                constants.insert(name, constant);
            }
        }
        check_memory(kept, "its constants").map_err(|error| error.to_string())
    }
}

fn inferred(file: &File, inputs: &[(String, Vec<usize>)]) -> Shapes {
    let mut symbols = SymbolGen::new();
    let mut values: HashMap<&str, SymTensor> = HashMap::new();
    for tensor in &file.graph.initializer {
        values.insert(&tensor.name, of_tensor(tensor));
    }
    for (name, shape) in inputs {
        values.insert(name, SymTensor::from_fixed_shape(shape));
    }
    let (mut known, mut largest, mut tables) = (HashMap::new(), 0, Tables::default());
    for node in &file.graph.node {
        let given: Vec<Option<SymTensor>> =
            node.input.iter().map(|name| values.get(name.as_str()).cloned()).collect();
        // An input that is named and not there yet makes the node unknown, not shorter.
        let complete =
            node.input.iter().zip(&given).all(|(name, v)| name.is_empty() || v.is_some());
        let made = match complete {
            true => match tables.follow(node, &given) {
                Some(table) => Some(vec![table]),
                None => of_node(node, given, &mut symbols),
            },
            false => None,
        };
        for (name, value) in node.output.iter().zip(made.into_iter().flatten()) {
            let value = value.simplify();
            if let Some(shape) = fixed(&value) {
                largest = largest.max(shape.iter().fold(1, |size, dim| dim.saturating_mul(size)));
                known.insert(name.clone(), shape);
            }
            values.insert(name, value);
        }
    }
    for (name, value) in &values {
        if let Some(shape) = fixed(value) {
            known.insert(name.to_string(), shape);
        }
    }
    Shapes { known, largest }
}

fn fixed(value: &SymTensor) -> Option<Vec<usize>> {
    let size = |dim: SymExpr| match dim {
        SymExpr::Value(size) => usize::try_from(size).ok(),
        _ => None,
    };
    value.shape()?.map(size).collect()
}

/// Weights by their shape, and short lists of integers by their values: shapes are made of those.
fn of_tensor(tensor: &Tensor) -> SymTensor {
    let listed = tensor.dims.len() <= 1 && tensor.dims.iter().all(|&dim| dim <= LISTED as i64);
    if listed && let Some(values) = integers(tensor) {
        let mut values = values.into_iter().map(SymExpr::Value);
        return match tensor.dims.len() {
            0 => {
                values.next().map_or_else(|| SymTensor::unknown("no value"), SymTensor::from_scalar)
            }
            _ => SymTensor::from_vec(values.collect()),
        };
    }
    let dims = tensor.dims.iter().map(|&dim| i32::try_from(dim).ok().map(SymExpr::Value));
    let dims: Option<Vec<SymExpr>> = dims.collect();
    dims.map_or_else(|| SymTensor::unknown("too large"), SymTensor::from_shape)
}

/// The values of a tensor of integers, cut as the engine cuts them.
fn integers(tensor: &Tensor) -> Option<Vec<i32>> {
    let cut = |value: i64| value.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    match (tensor.data_type, &tensor.raw_data) {
        (7, Some(raw)) => {
            Some(raw.as_chunks::<8>().0.iter().map(|&b| cut(i64::from_le_bytes(b))).collect())
        }
        (7, None) => Some(tensor.int64_data.iter().copied().map(cut).collect()),
        (6, Some(raw)) => {
            Some(raw.as_chunks::<4>().0.iter().map(|&b| i32::from_le_bytes(b)).collect())
        }
        (6 | 9, None) => Some(tensor.int32_data.clone()),
        (9, Some(raw)) => Some(raw.iter().map(|&byte| byte.into()).collect()),
        _ => None,
    }
}
