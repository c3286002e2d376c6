//! Which tensor of a graph describes its input, and the graph that ends there.

use std::collections::{HashMap, HashSet};

use crate::file::File;
use crate::proto::{Attribute, Graph, Node, Tensor, ValueInfo};
use crate::shapes::Shapes;

/// What the output of a cut graph is called, and what names of added tensors begin with.
pub const FEATURES: &str = "sngp/features";
const ADDED: &str = "sngp/encoder";

/// How the vectors of an input's parts (tokens, patches) become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean, padding left out.
    Mean,
    /// The first one.
    First,
}

/// How a feature tensor becomes one vector a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// How parts become one.
    pub pooling: Pooling,
    /// Whether vectors are divided by their length.
    pub normalized: bool,
}

/// Outputs that are made to describe the whole input.
const WHOLE: [&str; 6] = [
    "sentence_embedding",
    "text_embeds",
    "image_embeds",
    "embeddings",
    "sentence_embeddings",
    "features",
];
/// Outputs that describe its parts.
const PARTS: [&str; 3] = ["last_hidden_state", "token_embeddings", "hidden_states"];
/// What may stand between a classifier's last layer and its output.
const PASSED: [&str; 9] = [
    "Softmax",
    "LogSoftmax",
    "Sigmoid",
    "Identity",
    "Cast",
    "Squeeze",
    "Flatten",
    "Reshape",
    "Dropout",
];

/// The tensor that describes the input: an output made for it, or what a classifier's last layer
/// takes. The reason says which rule found it.
pub fn guess(file: &File, shapes: &Shapes) -> Option<(String, &'static str)> {
    let outputs: Vec<&str> = file.graph.output.iter().map(|output| output.name.as_str()).collect();
    let rank = |name: &str| shapes.of(name).map(<[usize]>::len);
    let named = |names: &[&'static str], wanted: &[usize]| {
        let fits = |name: &&str| {
            outputs.contains(name) && rank(name).is_some_and(|rank| wanted.contains(&rank))
        };
        names.iter().copied().find(fits).map(str::to_string)
    };
    if let Some(name) = named(&WHOLE, &[2]) {
        return Some((name, "an output that is made to describe the input"));
    }
    if let Some(name) = named(&PARTS, &[3, 4]) {
        return Some((name, "the last hidden state"));
    }
    if let Some(name) = outputs.iter().copied().find(|name| rank(name) == Some(3)) {
        return Some((name.to_string(), "the output with a vector for each part"));
    }
    let first = outputs.iter().copied().find(|name| rank(name) == Some(2));
    let found = first.and_then(|output| before_last_layer(&file.graph, output))?;
    rank(&found).filter(|rank| (2..=4).contains(rank))?;
    Some((found, "what the classifier's last layer takes"))
}

/// What the last layer with weights takes, before an output.
fn before_last_layer(graph: &Graph, output: &str) -> Option<String> {
    let made = producers(graph);
    let constant = |name: &String| {
        let weights = graph.initializer.iter().any(|tensor| tensor.name == *name);
        let node = made.get(name.as_str()).map(|&place| &graph.node[place]);
        weights || node.is_some_and(|node| node.op_type == "Constant")
    };
    let mut name = output.to_string();
    // No longer than the graph is: a name could lead to itself.
    for _ in 0..graph.node.len() {
        let node = &graph.node[*made.get(name.as_str())?];
        let (first, second) = (node.input.first()?, node.input.get(1));
        name = match node.op_type.as_str() {
            "Gemm" | "MatMul" | "Conv" if second.is_some_and(constant) => {
                return Some(first.clone());
            }
            "Add" if second.is_some_and(constant) => first.clone(),
            "Add" if constant(first) => second?.clone(),
            passed if PASSED.contains(&passed) => first.clone(),
            _ => return None,
        };
    }
    None
}

fn producers(graph: &Graph) -> HashMap<&str, usize> {
    let outputs = |(place, node): (usize, &'_ Node)| {
        node.output.iter().map(move |_| place).collect::<Vec<_>>()
    };
    let names = graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str));
    names.zip(graph.node.iter().enumerate().flat_map(outputs)).collect()
}

/// Leaves what a tensor is made of, and makes it one vector a row: the output [`FEATURES`].
///
/// The operators that are added are the same in every version from 8 on, so that they stand beside
/// whatever the file is written in.
pub fn cut(
    file: &mut File,
    tensor: &str,
    rank: usize,
    reduction: Reduction,
    mask: Option<&str>,
) -> Result<(), String> {
    let mask = mask.filter(|_| rank == 3 && reduction.pooling == Pooling::Mean);
    keep(&mut file.graph, tensor, mask);
    let opset = file.opset();
    let graph = &mut file.graph;
    let pooled = match (rank, reduction.pooling, mask) {
        (2, _, _) => tensor.to_string(),
        (3, Pooling::First, _) => {
            let first = integers(graph, "first", &[], &[0]);
            put(graph, "Gather", &[tensor, &first], &[("axis", 1)])
        }
        (3, Pooling::Mean, Some(mask)) => mean(graph, tensor, mask),
        (3, Pooling::Mean, None) => {
            let rows = put(graph, "ReduceMean", &[tensor], &[("keepdims", 0)]);
            add_axes(graph, opset);
            rows
        }
        (4, _, _) => {
            let pooled = put(graph, "GlobalAveragePool", &[tensor], &[]);
            put(graph, "Flatten", &[&pooled], &[("axis", 1)])
        }
        _ => return Err(format!("`{tensor}` has {rank} axes, and 2 to 4 are features")),
    };
    let vectors = if reduction.normalized { unit(graph, &pooled) } else { pooled };
    let node = Node {
        input: vec![vectors],
        output: vec![FEATURES.to_string()],
        name: FEATURES.to_string(),
        op_type: "Identity".to_string(),
        ..Default::default()
    };
    graph.node.push(node);
    graph.output = vec![ValueInfo { name: FEATURES.to_string(), ..Default::default() }];
    Ok(())
}

/// Writes out what convolutions and poolings leave at its usual value: the engine wants it said.
pub fn spell_out(graph: &mut Graph, shapes: &Shapes) {
    for node in &mut graph.node {
        if !["Conv", "ConvInteger", "MaxPool", "AveragePool"].contains(&node.op_type.as_str()) {
            continue;
        }
        let input = node.input.first().and_then(|name| shapes.of(name));
        let axes = input.map_or(0, |shape| shape.len().saturating_sub(2));
        // Poolings have got dilations in later versions only.
        let dilated = node.op_type.starts_with("Conv");
        let padded = node.attribute.iter().any(|attribute| attribute.name == "auto_pad");
        let usual = [
            ("strides", vec![1; axes], true),
            ("dilations", vec![1; axes], dilated),
            ("pads", vec![0; 2 * axes], !padded),
        ];
        for (option, ints, wanted) in usual {
            if wanted && !node.attribute.iter().any(|attribute| attribute.name == option) {
                let name = option.to_string();
                node.attribute.push(Attribute { name, ints, kind: 7, ..Default::default() });
            }
        }
    }
}

/// Drops every node, weight and input that a tensor does not need.
fn keep(graph: &mut Graph, tensor: &str, mask: Option<&str>) {
    let made = producers(graph);
    let mut needed: HashSet<String> = HashSet::new();
    let mut nodes: HashSet<usize> = HashSet::new();
    let mut open = vec![tensor.to_string()];
    open.extend(mask.map(str::to_string));
    while let Some(name) = open.pop() {
        if needed.insert(name.clone())
            && let Some(&place) = made.get(name.as_str())
            && nodes.insert(place)
        {
            open.extend(graph.node[place].input.iter().cloned());
        }
    }
    drop(made);
    let mut place = 0;
    graph.node.retain(|_| {
        place += 1;
        nodes.contains(&(place - 1))
    });
    graph.initializer.retain(|tensor| needed.contains(&tensor.name));
    graph.input.retain(|input| needed.contains(&input.name));
}

/// The mean of the vectors of real tokens, as products: `mask · hidden / mask · mask`.
fn mean(graph: &mut Graph, hidden: &str, mask: &str) -> String {
    let real = put(graph, "Cast", &[mask], &[("to", 1)]);
    let across = reshaped(graph, &real, &[0, 1, -1]);
    let down = reshaped(graph, &real, &[0, -1, 1]);
    let sum = put(graph, "MatMul", &[&across, hidden], &[]);
    let count = put(graph, "MatMul", &[&across, &down], &[]);
    let least = number(graph, "least_count", 1.0);
    let count = put(graph, "Max", &[&count, &least], &[]);
    let mean = put(graph, "Div", &[&sum, &count], &[]);
    reshaped(graph, &mean, &[0, -1])
}

/// Vectors divided by their lengths.
fn unit(graph: &mut Graph, vectors: &str) -> String {
    let across = reshaped(graph, vectors, &[0, 1, -1]);
    let down = reshaped(graph, vectors, &[0, -1, 1]);
    let square = put(graph, "MatMul", &[&across, &down], &[]);
    let length = put(graph, "Sqrt", &[&square], &[]);
    let least = number(graph, "least_length", 1e-12);
    let length = put(graph, "Max", &[&length, &least], &[]);
    let unit = put(graph, "Div", &[&across, &length], &[]);
    reshaped(graph, &unit, &[0, -1])
}

/// The axis that parts are averaged over: an option up to version 17, an input from 18 on.
fn add_axes(graph: &mut Graph, opset: i64) {
    let axes = (opset >= 18).then(|| integers(graph, "parts", &[1], &[1]));
    let Some(node) = graph.node.last_mut() else { return };
    match axes {
        Some(axes) => node.input.push(axes),
        None => node.attribute.push(Attribute {
            name: "axes".to_string(),
            ints: vec![1],
            kind: 7,
            ..Default::default()
        }),
    }
}

fn reshaped(graph: &mut Graph, value: &str, shape: &[i64]) -> String {
    let name = format!("shape{}", graph.initializer.len());
    let shape = integers(graph, &name, &[shape.len() as i64], shape);
    put(graph, "Reshape", &[value, &shape], &[])
}

fn put(graph: &mut Graph, operator: &str, inputs: &[&str], options: &[(&str, i64)]) -> String {
    let name = format!("{ADDED}/{operator}_{}", graph.node.len());
    let option = |(name, value): &(&str, i64)| Attribute {
        name: name.to_string(),
        i: Some(*value),
        kind: 2,
        ..Default::default()
    };
    graph.node.push(Node {
        input: inputs.iter().map(|name| name.to_string()).collect(),
        output: vec![name.clone()],
        name: name.clone(),
        op_type: operator.to_string(),
        attribute: options.iter().map(option).collect(),
        domain: String::new(),
    });
    name
}

fn integers(graph: &mut Graph, name: &str, dims: &[i64], values: &[i64]) -> String {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    initializer(graph, name, 7, dims, bytes)
}

fn number(graph: &mut Graph, name: &str, value: f32) -> String {
    initializer(graph, name, 1, &[], value.to_le_bytes().to_vec())
}

fn initializer(graph: &mut Graph, name: &str, kind: i32, dims: &[i64], raw: Vec<u8>) -> String {
    let name = format!("{ADDED}/{name}");
    graph.initializer.push(Tensor {
        dims: dims.to_vec(),
        data_type: kind,
        name: name.clone(),
        raw_data: Some(raw),
        ..Default::default()
    });
    name
}
