//! Somebody else's graph in operators of our version: a file has one version of them for all.

use sngp::{Error, Result};
use sngp_encoder::{File, is_standard, proto};

use crate::OPSET;

/// The newest version in which our own operators mean what they mean in [`OPSET`].
const NEWEST: i64 = 22;
/// Operators that are the same, or take more, from some version up to ours.
const SAME: [(i64, &[&str]); 9] = [
    (
        1,
        &[
            "Identity",
            "Cast",
            "Gather",
            "MatMul",
            "Transpose",
            "Shape",
            "Size",
            "Constant",
            "Conv",
            "GlobalAveragePool",
            "GlobalMaxPool",
            "Flatten",
            "Concat",
            "Not",
            "DepthToSpace",
            "SpaceToDepth",
            "LpNormalization",
            "ArgMax",
            "ArgMin",
        ],
    ),
    (
        6,
        &[
            "Tanh",
            "Relu",
            "Sigmoid",
            "Exp",
            "Log",
            "Sqrt",
            "Neg",
            "Abs",
            "Floor",
            "Ceil",
            "Reciprocal",
            "InstanceNormalization",
            "LeakyRelu",
            "Elu",
            "HardSigmoid",
            "Softplus",
            "Softsign",
            "Tile",
        ],
    ),
    (
        7,
        &[
            "Add",
            "Sub",
            "Mul",
            "Div",
            "Pow",
            "Gemm",
            "Equal",
            "Greater",
            "Less",
            "And",
            "Or",
            "Xor",
            "PRelu",
            "Sin",
            "Cos",
            "AveragePool",
        ],
    ),
    (8, &["Reshape", "Expand", "Min", "Max", "Mean", "Sum", "MaxPool"]),
    (9, &["Erf", "Where", "ConstantOfShape", "BatchNormalization", "IsNaN", "Sign", "OneHot"]),
    (
        10,
        &[
            "Slice",
            "Mod",
            "IsInf",
            "QuantizeLinear",
            "DequantizeLinear",
            "MatMulInteger",
            "ConvInteger",
        ],
    ),
    (
        11,
        &[
            "Clip",
            "Range",
            "CumSum",
            "Round",
            "TopK",
            "Pad",
            "Resize",
            "ScatterND",
            "ScatterElements",
            "GatherElements",
            "GatherND",
            "DynamicQuantizeLinear",
        ],
    ),
    (12, &["GreaterOrEqual", "LessOrEqual", "Einsum"]),
    (13, &["Softmax", "LogSoftmax", "Unsqueeze", "Squeeze", "ReduceSum"]),
];
/// The same, of later versions.
const LATER: [(i64, &[&str]); 2] = [(14, &["HardSwish", "Trilu"]), (17, &["LayerNormalization"])];
/// Reductions whose axes became an input in version 18.
const REDUCTIONS: [&str; 9] = [
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
];

/// The file in version 18 of the standard operators, or as it is in a newer one.
pub fn upgraded(mut file: File) -> Result<File> {
    let version = file.opset();
    if version > NEWEST {
        return Err(Error::Unsupported(format!(
            "the encoder's operators are of version {version}, and versions up to {NEWEST} can be \
             joined with the model's; export the encoder in one of those"
        )));
    }
    if version >= OPSET {
        return Ok(file);
    }
    let nodes = std::mem::take(&mut file.graph.node);
    for node in nodes {
        upgrade(&mut file.graph, node, version)?;
    }
    for set in file.operators.iter_mut().filter(|set| is_standard(&set.domain)) {
        set.version = OPSET;
    }
    Ok(file)
}

fn upgrade(graph: &mut proto::Graph, mut node: proto::Node, version: i64) -> Result<()> {
    let known = SAME
        .iter()
        .chain(&LATER)
        .any(|(since, operators)| version >= *since && operators.contains(&node.op_type.as_str()));
    if known || !is_standard(&node.domain) {
        graph.node.push(node);
        return Ok(());
    }
    match node.op_type.as_str() {
        // Before version 13 it flattened what comes after its axis, usual 1.
        "Softmax" | "LogSoftmax" => softmax(graph, node),
        "Unsqueeze" | "Squeeze" | "ReduceSum" => with_input(graph, &mut node, "axes"),
        reduction if REDUCTIONS.contains(&reduction) => with_input(graph, &mut node, "axes"),
        "Split" => {
            let sized = node.attribute.iter().any(|attribute| attribute.name == "split");
            if sized {
                with_input(graph, &mut node, "split");
            } else {
                if node.input.len() < 2 {
                    let count = node.output.len() as i64;
                    node.attribute.push(integer("num_outputs", count));
                }
                graph.node.push(node);
            }
        }
        // Nothing is dropped where nothing is learned.
        "Dropout" if node.output.len() == 1 => {
            node.op_type = "Identity".to_string();
            node.attribute.clear();
            node.input.truncate(1);
            graph.node.push(node);
        }
        "Clip" => {
            for bound in ["min", "max"] {
                let value = node.attribute.iter().find(|attribute| attribute.name == bound);
                let value = value.and_then(|attribute| attribute.f);
                let name = value.map(|value| {
                    put(graph, &node.name, bound, 1, &[], value.to_le_bytes().to_vec())
                });
                node.input.push(name.unwrap_or_default());
            }
            node.attribute.clear();
            graph.node.push(node);
        }
        operator => {
            return Err(Error::Unsupported(format!(
                "the encoder's operator {operator} of version {version} cannot be written in version \
                 {OPSET}; export the encoder in that version"
            )));
        }
    }
    Ok(())
}

fn softmax(graph: &mut proto::Graph, mut node: proto::Node) {
    let axis = node.attribute.iter().find(|attribute| attribute.name == "axis");
    let axis = axis.and_then(|attribute| attribute.i).unwrap_or(1);
    node.attribute = vec![integer("axis", -1)];
    if axis == -1 {
        graph.node.push(node);
        return;
    }
    let (Some(input), Some(output)) = (node.input.first().cloned(), node.output.first().cloned())
    else {
        return;
    };
    let name = |part: &str| format!("{output}/{part}");
    let step = |operator: &str, inputs: Vec<String>, output: String| proto::Node {
        input: inputs,
        name: output.clone(),
        output: vec![output],
        op_type: operator.to_string(),
        ..Default::default()
    };
    let mut flat = step("Flatten", vec![input.clone()], name("flat"));
    flat.attribute.push(integer("axis", axis));
    let shape = step("Shape", vec![input], name("shape"));
    node.input = vec![name("flat")];
    node.output = vec![name("shares")];
    let back = step("Reshape", vec![name("shares"), name("shape")], output);
    graph.node.extend([flat, shape, node, back]);
}

/// An option with integers as the input that it became.
fn with_input(graph: &mut proto::Graph, node: &mut proto::Node, option: &str) {
    let place = node.attribute.iter().position(|attribute| attribute.name == option);
    if let Some(place) = place {
        let list = node.attribute.remove(place).ints;
        let bytes = list.iter().flat_map(|value| value.to_le_bytes()).collect();
        let own = node.output.first().cloned().unwrap_or_default();
        let name = put(graph, &own, option, 7, &[list.len() as i64], bytes);
        node.input.truncate(1);
        node.input.push(name);
    }
    graph.node.push(std::mem::take(node));
}

fn put(
    graph: &mut proto::Graph,
    node: &str,
    what: &str,
    kind: i32,
    dims: &[i64],
    bytes: Vec<u8>,
) -> String {
    // A node's name is not always its own; the number of values is.
    let name = format!("{node}/{what}_{}", graph.initializer.len());
    graph.initializer.push(proto::Tensor {
        dims: dims.to_vec(),
        data_type: kind,
        name: name.clone(),
        raw_data: Some(bytes),
        ..Default::default()
    });
    name
}

fn integer(name: &str, value: i64) -> proto::Attribute {
    proto::Attribute { name: name.to_string(), i: Some(value), kind: 2, ..Default::default() }
}
