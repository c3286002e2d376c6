//! Which tensor of a graph describes its input, and the graph that ends there.

use std::collections::{HashMap, HashSet};

use sngp::backbone::Pooling;

use crate::file::File;
use crate::proto::{Attribute, Graph, Node, Tensor, ValueInfo};
use crate::shapes::Shapes;
use crate::writer::{Setting, Writer};

/// What the output of a cut graph is called, and what names of added tensors begin with.
pub const FEATURES: &str = "sngp/features";
/// What the logits of a classifier are called, where the features begin with them.
pub const LOGITS: &str = "sngp/logits";
/// The number that they are multiplied by there.
pub const LOGIT_FACTOR: &str = "sngp/logit_factor";
const ADDED: &str = "sngp/encoder";

/// How a feature tensor becomes one vector a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// How the vectors of an input's parts (tokens, patches) become one.
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

/// A classifier's scores before they become probabilities, one for each class.
pub fn logits(file: &File, shapes: &Shapes) -> Option<String> {
    let several = |name: &&str| matches!(shapes.of(name), Some([_, classes]) if *classes > 1);
    let described = |name: &&str| WHOLE.contains(name);
    let outputs = || file.graph.output.iter().map(|output| output.name.as_str()).filter(several);
    let outputs = || outputs().filter(|name| !described(name));
    let output = outputs().find(|name| *name == "logits").or_else(|| outputs().next())?;
    let made = producers(&file.graph);
    let mut name = output;
    for _ in 0..file.graph.node.len() {
        let Some(node) = made.get(name).map(|&place| &file.graph.node[place]) else { break };
        let first = node.input.first()?.as_str();
        match node.op_type.as_str() {
            "Softmax" | "LogSoftmax" => return Some(first).filter(several).map(str::to_string),
            // Classes that do not shut each other out.
            "Sigmoid" => return None,
            passed if PASSED.contains(&passed) => name = first,
            _ => break,
        }
    }
    Some(output.to_string())
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

/// What is left of a graph.
pub struct Cut<'a> {
    /// The tensor that describes the input, and the number of its axes.
    pub tensor: &'a str,
    pub rank: usize,
    pub reduction: Reduction,
    /// Which parts of an input are no padding, where the graph is told.
    pub mask: Option<&'a str>,
    /// The logits that vectors begin with, where they do.
    pub logits: Option<&'a str>,
}

/// Leaves what a tensor is made of, and makes it one vector a row: the output [`FEATURES`].
///
/// The operators that are added are the same in every version from 8 on, so that they stand beside
/// whatever the file is written in.
pub fn cut(file: &mut File, wanted: &Cut<'_>) -> Result<(), String> {
    let &Cut { tensor, rank, reduction, mask, logits } = wanted;
    let mask = mask.filter(|_| rank == 3 && reduction.pooling == Pooling::Mean);
    keep(&mut file.graph, &[Some(tensor), mask, logits]);
    let opset = file.opset();
    let mut to = Writer::new(&mut file.graph, ADDED);
    let pooled = match (rank, reduction.pooling, mask) {
        (2, _, _) => tensor.to_string(),
        (3, Pooling::FirstToken, _) => {
            let first = to.integers(&[], &[0]);
            to.put("Gather", &[tensor, &first], &[("axis", Setting::Integer(1))])
        }
        (3, Pooling::Mean, Some(mask)) => mean(&mut to, tensor, mask),
        (3, Pooling::Mean, None) => mean_of_parts(&mut to, tensor, opset),
        (4, _, _) => {
            let pooled = to.put("GlobalAveragePool", &[tensor], &[]);
            to.put("Flatten", &[&pooled], &[("axis", Setting::Integer(1))])
        }
        _ => return Err(format!("`{tensor}` has {rank} axes, and 2 to 4 are features")),
    };
    let vectors = if reduction.normalized { unit(&mut to, &pooled) } else { pooled };
    let vectors = match logits {
        Some(logits) => beside(&mut to, logits, &vectors),
        None => vectors,
    };
    to.put_as("Identity", &[&vectors], &[], FEATURES);
    file.graph.output = vec![ValueInfo { name: FEATURES.to_string(), ..Default::default() }];
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

/// Drops every node, weight and input that some tensors do not need.
fn keep(graph: &mut Graph, tensors: &[Option<&str>]) {
    let made = producers(graph);
    let mut needed: HashSet<String> = HashSet::new();
    let mut nodes: HashSet<usize> = HashSet::new();
    let mut open: Vec<String> = tensors.iter().flatten().map(|name| name.to_string()).collect();
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
fn mean(to: &mut Writer<'_>, hidden: &str, mask: &str) -> String {
    let real = to.put("Cast", &[mask], &[("to", Setting::Integer(1))]);
    let across = to.reshape(&real, &[0, 1, -1]);
    let down = to.reshape(&real, &[0, -1, 1]);
    let sum = to.put("MatMul", &[&across, hidden], &[]);
    let count = to.put("MatMul", &[&across, &down], &[]);
    let least = to.numbers(&[], &[1.0]);
    let count = to.put("Max", &[&count, &least], &[]);
    let mean = to.put("Div", &[&sum, &count], &[]);
    to.reshape(&mean, &[0, -1])
}

/// The mean over the parts. Its axis is an option up to version 17, an input from 18 on.
fn mean_of_parts(to: &mut Writer<'_>, parts: &str, opset: i64) -> String {
    let keep = ("keepdims", Setting::Integer(0));
    if opset < 18 {
        return to.put("ReduceMean", &[parts], &[keep, ("axes", Setting::Integers(&[1]))]);
    }
    let axes = to.integers(&[1], &[1]);
    to.put("ReduceMean", &[parts, &axes], &[keep])
}

/// Vectors divided by their lengths.
fn unit(to: &mut Writer<'_>, vectors: &str) -> String {
    let across = to.reshape(vectors, &[0, 1, -1]);
    let down = to.reshape(vectors, &[0, -1, 1]);
    let square = to.put("MatMul", &[&across, &down], &[]);
    let length = to.put("Sqrt", &[&square], &[]);
    let least = to.numbers(&[], &[1e-12]);
    let length = to.put("Max", &[&length, &least], &[]);
    let unit = to.put("Div", &[&across, &length], &[]);
    to.reshape(&unit, &[0, -1])
}

/// Logits times a factor, and vectors behind them.
fn beside(to: &mut Writer<'_>, logits: &str, vectors: &str) -> String {
    let factor = Tensor {
        data_type: 1,
        name: LOGIT_FACTOR.to_string(),
        raw_data: Some(1.0f32.to_le_bytes().to_vec()),
        ..Default::default()
    };
    to.graph.initializer.push(factor);
    to.put_as("Mul", &[logits, LOGIT_FACTOR], &[], LOGITS);
    to.put("Concat", &[LOGITS, vectors], &[("axis", Setting::Integer(1))])
}
