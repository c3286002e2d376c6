//! The rule of every operator that is known: how large its outputs are.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rten_shape_inference::ops::{self, Padding};
use rten_shape_inference::{
    BinaryOp, InferShapes, InferShapesContext, ReductionOp, SymExpr, SymTensor, SymbolGen, UnaryOp,
    VariadicOp,
};

use super::{LISTED, fixed, integers, of_tensor};
use crate::file::is_standard;
use crate::proto::{Attribute, Node};

/// Whether there is a rule for an operator.
pub fn is_known(node: &Node) -> bool {
    let mut symbols = SymbolGen::new();
    let unknown = vec![Some(SymTensor::unknown("")); node.input.len()];
    catch_unwind(AssertUnwindSafe(|| rule(node, &unknown, &mut symbols).is_some())).unwrap_or(true)
}

/// The outputs of a node, where its rule tells them.
pub fn of_node(
    node: &Node,
    mut given: Vec<Option<SymTensor>>,
    symbols: &mut SymbolGen,
) -> Option<Vec<SymTensor>> {
    // What older operators have as options, newer ones have as inputs.
    for (place, name) in moved(&node.op_type).iter().enumerate() {
        let list = attribute(node, name).filter(|_| !name.is_empty());
        if let Some(list) = list.filter(|_| given.get(place + 1).is_none_or(Option::is_none)) {
            given.resize(given.len().max(place + 2), None);
            let list = list.ints.iter().map(|&value| SymExpr::Value(value as i32)).collect();
            given[place + 1] = Some(SymTensor::from_vec(list));
        }
    }
    rule(node, &given, symbols)?
}

/// The options of an operator that became inputs, in the order of those.
fn moved(operator: &str) -> &'static [&'static str] {
    match operator {
        "Unsqueeze" | "Squeeze" => &["axes"],
        "Slice" => &["starts", "ends", "axes"],
        "Split" => &["split"],
        "Pad" => &["pads"],
        _ => &[],
    }
}

/// The outputs by the operator's rule: none where there is no rule, or where it does not hold.
fn rule(
    node: &Node,
    given: &[Option<SymTensor>],
    symbols: &mut SymbolGen,
) -> Option<Option<Vec<SymTensor>>> {
    let integer = |name, usual| attribute(node, name).and_then(|a| a.i).unwrap_or(usual) as i32;
    let sizes = |name| -> Vec<usize> {
        attribute(node, name)
            .map_or_else(Vec::new, |a| a.ints.iter().map(|&v| v as usize).collect())
    };
    let spatial = given.first().and_then(|v| v.as_ref()?.ndim()).unwrap_or(2).saturating_sub(2);
    let or_ones = |sizes: Vec<usize>| if sizes.is_empty() { vec![1; spatial] } else { sizes };
    let pads = sizes("pads");
    let pads = if pads.is_empty() { vec![0; 2 * spatial] } else { pads };
    let same = attribute(node, "auto_pad").and_then(|a| a.s.as_deref());
    let padding = match same {
        Some(b"SAME_UPPER" | b"SAME_LOWER") => Padding::Same,
        _ => Padding::Fixed(&pads),
    };
    let (strides, dilations) = (or_ones(sizes("strides")), or_ones(sizes("dilations")));
    let kernel = sizes("kernel_shape");
    let axes: Vec<i32> = attribute(node, "axes").map_or_else(Vec::new, |attribute| {
        attribute.ints.iter().map(|&axis| axis as i32).collect()
    });
    let permutation = sizes("perm");
    let contrib = node.domain == "com.microsoft";
    if !(is_standard(&node.domain) || contrib) {
        return None;
    }
    let rule: &dyn InferShapes = match node.op_type.as_str() {
        "Constant" => return Some(constant(node)),
        "Split" => return Some(split(node, given)),
        "Resize" | "Upsample" => return Some(resized(given)),
        "LayerNormalization"
        | "BatchNormalization"
        | "Dropout"
        | "InstanceNormalization"
        | "RMSNormalization"
        | "SimplifiedLayerNormalization"
        | "Abs"
        | "Softmax"
        | "LogSoftmax"
        | "Relu"
        | "LeakyRelu"
        | "PRelu"
        | "Elu"
        | "Erf"
        | "Gelu"
        | "FastGelu"
        | "QuickGelu"
        | "HardSigmoid"
        | "HardSwish"
        | "Swish"
        | "Sigmoid"
        | "Tanh"
        | "Exp"
        | "Log"
        | "Sqrt"
        | "Reciprocal"
        | "Sign"
        | "Sin"
        | "Cos"
        | "Softplus"
        | "Softsign"
        | "Clip"
        | "Not"
        | "IsNaN"
        | "IsInf"
        | "CumSum"
        | "Trilu"
        | "QuantizeLinear"
        | "DequantizeLinear"
        | "LpNormalization"
        | "ScatterND"
        | "ScatterElements"
        | "RotaryEmbedding" => &UnaryOp,
        "Identity" | "Cast" | "Floor" | "Ceil" | "Round" => &ops::Identity,
        "Neg" => &ops::Neg,
        "Add" => &ops::Add,
        "Sub" => &ops::Sub,
        "Mul" => &ops::Mul,
        "Div" => &ops::Div,
        "Equal" => &ops::Equal,
        "Where" => &ops::Where,
        "Pow" | "And" | "Or" | "Xor" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual"
        | "Mod" => &BinaryOp,
        "Min" | "Max" | "Mean" | "Sum" => &VariadicOp,
        "MatMul" | "MatMulInteger" => &ops::MatMul,
        "Gemm" => &ops::Gemm {
            transpose_a: integer("transA", 0) != 0,
            transpose_b: integer("transB", 0) != 0,
        },
        "Einsum" => {
            let equation = attribute(node, "equation")?.s.as_deref()?;
            let equation = std::str::from_utf8(equation).ok()?;
            return Some(outputs(&ops::Einsum { equation }, given, symbols));
        }
        "Conv" | "ConvInteger" => &ops::Conv { dilations: &dilations, padding, strides: &strides },
        "MaxPool" | "AveragePool" => &ops::Pool {
            dilations: &dilations,
            kernel_size: &kernel,
            padding,
            strides: &strides,
            ceil_mode: integer("ceil_mode", 0) != 0,
        },
        "GlobalAveragePool" | "GlobalMaxPool" => &ops::GlobalPool,
        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax"
        | "ReduceMean" | "ReduceMin" | "ReduceProd" | "ReduceSum" | "ReduceSumSquare" => {
            &ReductionOp {
                axes: (!axes.is_empty()).then_some(&axes[..]),
                keep_dims: integer("keepdims", 1) != 0,
            }
        }
        "ArgMax" | "ArgMin" => {
            let axis = [integer("axis", 0)];
            let rule = ReductionOp { axes: Some(&axis), keep_dims: integer("keepdims", 1) != 0 };
            return Some(outputs(&rule, given, symbols));
        }
        "Reshape" => &ops::Reshape { allow_zero: integer("allowzero", 0) != 0 },
        "Transpose" => {
            &ops::Transpose { perm: (!permutation.is_empty()).then_some(&permutation[..]) }
        }
        "Flatten" => &ops::Flatten { axis: integer("axis", 1) },
        "Squeeze" => &ops::Squeeze,
        "Unsqueeze" => &ops::Unsqueeze,
        "Expand" => &ops::Expand,
        "Tile" => &ops::Tile,
        "Concat" => &ops::Concat { axis: integer("axis", 0) },
        "Gather" => &ops::Gather { axis: integer("axis", 0) },
        "GatherElements" => &ops::GatherElements,
        "GatherND" => &ops::GatherND { batch_dims: integer("batch_dims", 0).max(0) as usize },
        "Slice" => &ops::Slice,
        "Pad" => &ops::Pad,
        "Range" => &ops::Range,
        "OneHot" => &ops::OneHot { axis: integer("axis", -1) },
        "DepthToSpace" => &ops::DepthToSpace { block_size: integer("blocksize", 1) as u32 },
        "Size" => &ops::Size,
        "Shape" => &ops::Shape {
            start: attribute(node, "start").and_then(|a| a.i).map(|at| at as i32),
            end: attribute(node, "end").and_then(|a| a.i).map(|at| at as i32),
        },
        "ConstantOfShape" => &ops::ConstantOfShape { value: repeated(node, given) },
        "SkipLayerNormalization" if contrib => &ops::SkipLayerNormalization,
        _ => return None,
    };
    Some(outputs(rule, given, symbols))
}

fn outputs(
    rule: &dyn InferShapes,
    given: &[Option<SymTensor>],
    symbols: &mut SymbolGen,
) -> Option<Vec<SymTensor>> {
    rule.infer_shapes(InferShapesContext::new(given), symbols).ok()
}

pub(super) fn attribute<'a>(node: &'a Node, name: &str) -> Option<&'a Attribute> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

fn constant(node: &Node) -> Option<Vec<SymTensor>> {
    let value = node.attribute.first()?;
    let list = |values: Vec<i64>| -> Option<SymTensor> {
        let values = values.into_iter().map(|v| i32::try_from(v).ok().map(SymExpr::Value));
        Some(SymTensor::from_vec(values.collect::<Option<_>>()?))
    };
    Some(vec![match value.name.as_str() {
        "value" => of_tensor(value.t.as_ref()?),
        "value_int" => SymTensor::from_scalar(SymExpr::Value(i32::try_from(value.i?).ok()?)),
        "value_ints" => list(value.ints.clone())?,
        "value_float" => SymTensor::from_shape(Vec::new()),
        "value_floats" => SymTensor::from_fixed_shape(&[value.floats.len()]),
        _ => return None,
    }])
}

/// The integer that a `ConstantOfShape` repeats, where a short list of it is worth knowing.
fn repeated(node: &Node, given: &[Option<SymTensor>]) -> Option<i32> {
    let sizes = given.first()?.as_ref()?.to_constant()?;
    if sizes.values().iter().any(|&size| size < 0 || size as usize > LISTED) {
        return None;
    }
    integers(attribute(node, "value")?.t.as_ref()?)?.first().copied()
}

/// Equal parts, or parts of given sizes.
fn split(node: &Node, given: &[Option<SymTensor>]) -> Option<Vec<SymTensor>> {
    let shape = fixed(given.first()?.as_ref()?)?;
    let axis = attribute(node, "axis").and_then(|a| a.i).unwrap_or(0);
    let axis = usize::try_from(if axis < 0 { axis + shape.len() as i64 } else { axis }).ok()?;
    let whole = *shape.get(axis)?;
    let parts: Vec<usize> = match given.get(1).and_then(Option::as_ref) {
        Some(sizes) => {
            let sizes = sizes.to_constant()?.into_vec();
            sizes.into_iter().map(|size| usize::try_from(size).ok()).collect::<Option<_>>()?
        }
        None => {
            let (count, each) = (node.output.len(), whole.div_ceil(node.output.len().max(1)));
            (0..count).map(|part| each.min(whole.saturating_sub(part * each))).collect()
        }
    };
    let part = |size: usize| {
        let mut shape = shape.clone();
        shape[axis] = size;
        SymTensor::from_fixed_shape(&shape)
    };
    (parts.iter().sum::<usize>() == whole).then(|| parts.into_iter().map(part).collect())
}

/// Resizing to sizes that are known; scales are numbers, which are not followed.
fn resized(given: &[Option<SymTensor>]) -> Option<Vec<SymTensor>> {
    let sizes = given.get(3)?.as_ref()?.as_vector()?.to_vec();
    Some(vec![SymTensor::from_shape(sizes)])
}
