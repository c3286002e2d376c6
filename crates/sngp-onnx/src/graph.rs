//! Building a graph node by node.

use std::collections::{HashMap, HashSet};

use ndarray::Array2;

use sngp_encoder::{File, is_standard, proto};

/// The standard operators' domain of classical machine learning: categories by their names.
pub const MACHINE_LEARNING: &str = "ai.onnx.ml";

/// What a tensor's elements are, by ONNX's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// f32.
    Float = 1,
    /// Bytes: pixels.
    Byte = 2,
    /// i64.
    Integer = 7,
    /// Texts.
    Text = 8,
    /// Truth values.
    Bool = 9,
    /// f64.
    Double = 11,
}

/// A size of an input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The number of rows, any.
    Rows,
    /// The number of tokens of the longest sentence.
    Tokens,
    /// So many.
    Of(usize),
}

/// A tensor of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(String);

/// An option of an operator.
pub enum Attribute {
    /// A number.
    Float(f32),
    /// An integer.
    Integer(i64),
    /// Integers.
    Integers(Vec<i64>),
    /// A text.
    Text(&'static str),
    /// Texts.
    Texts(Vec<String>),
}

/// A graph under construction. Values of one number a row are `[rows, 1]` inside of it, so that they
/// broadcast against those of many.
#[derive(Default)]
pub struct Graph {
    written: proto::Graph,
    named: HashSet<String>,
    scalars: HashMap<(i32, u64), Value>,
    /// Operator sets and the file format that a part of the graph was written in.
    joined: (Vec<proto::OperatorSet>, i64),
}

impl Graph {
    /// An input.
    pub fn input(&mut self, name: &str, element: Element, shape: &[Size], meaning: &str) -> Value {
        self.written.input.push(described(name, element, shape, meaning));
        Value(name.to_string())
    }

    /// An output: a value under a name of its own.
    pub fn output(
        &mut self,
        name: &str,
        value: &Value,
        element: Element,
        shape: &[Size],
        meaning: &str,
    ) {
        let node = proto::Node {
            input: vec![value.0.clone()],
            output: vec![name.to_string()],
            name: format!("sngp/output/{name}"),
            op_type: "Identity".to_string(),
            ..Default::default()
        };
        self.written.node.push(node);
        self.written.output.push(described(name, element, shape, meaning));
    }

    /// An operator without options.
    pub fn op(&mut self, kind: &str, inputs: &[&Value]) -> Value {
        self.op_with(kind, inputs, &[])
    }

    /// An operator with options.
    pub fn op_with(
        &mut self,
        kind: &str,
        inputs: &[&Value],
        options: &[(&str, Attribute)],
    ) -> Value {
        self.several("", kind, inputs, options, 1).swap_remove(0)
    }

    /// An operator of a domain with some outputs.
    pub fn several(
        &mut self,
        domain: &str,
        kind: &str,
        inputs: &[&Value],
        options: &[(&str, Attribute)],
        outputs: usize,
    ) -> Vec<Value> {
        let name = format!("sngp/{kind}_{}", self.written.node.len());
        let made: Vec<Value> = (0..outputs).map(|i| Value(format!("{name}.{i}"))).collect();
        self.written.node.push(proto::Node {
            input: inputs.iter().map(|value| value.0.clone()).collect(),
            output: made.iter().map(|value| value.0.clone()).collect(),
            name,
            op_type: kind.to_string(),
            attribute: options.iter().map(|(name, value)| attribute(name, value)).collect(),
            domain: domain.to_string(),
        });
        made
    }

    /// A value of the file. What has a name is written once.
    fn initializer(&mut self, name: Option<&str>, tensor: proto::Tensor) -> Value {
        let own = || format!("sngp/constant_{}", self.written.initializer.len());
        let name = name.map_or_else(own, str::to_string);
        if self.named.insert(name.clone()) {
            self.written.initializer.push(proto::Tensor { name: name.clone(), ..tensor });
        }
        Value(name)
    }

    fn numbers(
        &mut self,
        name: Option<&str>,
        element: Element,
        shape: &[usize],
        bytes: Vec<u8>,
    ) -> Value {
        let tensor = proto::Tensor {
            dims: shape.iter().map(|&size| size as i64).collect(),
            data_type: element as i32,
            raw_data: Some(bytes),
            ..Default::default()
        };
        self.initializer(name, tensor)
    }

    /// Weights in f32 under their own name.
    pub fn weights(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.numbers(Some(name), Element::Float, shape, bytes)
    }

    /// A matrix in f64 under its own name.
    pub fn matrix(&mut self, name: &str, matrix: &Array2<f64>) -> Value {
        let bytes = matrix.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.numbers(Some(name), Element::Double, matrix.shape(), bytes)
    }

    /// A row `[1, n]` of f64 under its own name.
    pub fn row(&mut self, name: &str, values: &[f64]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.numbers(Some(name), Element::Double, &[1, values.len()], bytes)
    }

    /// A list of integers.
    pub fn integers(&mut self, values: &[i64]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.numbers(None, Element::Integer, &[values.len()], bytes)
    }

    /// A list of truth values.
    pub fn truths(&mut self, name: &str, values: &[bool]) -> Value {
        let bytes = values.iter().map(|&value| u8::from(value)).collect();
        self.numbers(Some(name), Element::Bool, &[values.len()], bytes)
    }

    /// A list of texts.
    pub fn texts(&mut self, name: &str, values: &[&str]) -> Value {
        let tensor = proto::Tensor {
            dims: vec![values.len() as i64],
            data_type: Element::Text as i32,
            string_data: values.iter().map(|text| text.as_bytes().to_vec()).collect(),
            ..Default::default()
        };
        self.initializer(Some(name), tensor)
    }

    fn scalar(&mut self, element: Element, bits: u64, bytes: Vec<u8>) -> Value {
        if let Some(known) = self.scalars.get(&(element as i32, bits)) {
            return known.clone();
        }
        let value = self.numbers(None, element, &[], bytes);
        self.scalars.insert((element as i32, bits), value.clone());
        value
    }

    /// One number in f64.
    pub fn double(&mut self, value: f64) -> Value {
        self.scalar(Element::Double, value.to_bits(), value.to_le_bytes().to_vec())
    }

    /// One number in f32.
    pub fn float(&mut self, value: f32) -> Value {
        let bits = u64::from(value.to_bits());
        self.scalar(Element::Float, bits, value.to_le_bytes().to_vec())
    }

    /// One integer.
    pub fn integer(&mut self, value: i64) -> Value {
        self.scalar(Element::Integer, value as u64, value.to_le_bytes().to_vec())
    }

    /// A value with elements of another kind.
    pub fn cast(&mut self, value: &Value, to: Element) -> Value {
        self.op_with("Cast", &[value], &[("to", Attribute::Integer(to as i64))])
    }

    /// A reduction over the last axis, which stays as one of size one.
    pub fn reduce(&mut self, kind: &str, value: &Value) -> Value {
        self.reduce_axes(kind, value, &[-1])
    }

    /// A reduction over some axes, which stay as ones of size one.
    pub fn reduce_axes(&mut self, kind: &str, value: &Value, axes: &[i64]) -> Value {
        let axes = self.integers(axes);
        self.op_with(kind, &[value, &axes], &[("keepdims", Attribute::Integer(1))])
    }

    /// Parts of an axis as a value of their own.
    pub fn gather(&mut self, value: &Value, places: &Value, axis: i64) -> Value {
        self.op_with("Gather", &[value, places], &[("axis", Attribute::Integer(axis))])
    }

    /// Values side by side.
    pub fn concat(&mut self, values: &[&Value], axis: i64) -> Value {
        self.op_with("Concat", values, &[("axis", Attribute::Integer(axis))])
    }

    /// `value W + b`.
    pub fn linear(&mut self, value: &Value, weight: &Value, bias: Option<&Value>) -> Value {
        let product = self.op("MatMul", &[value, weight]);
        bias.map_or_else(|| product.clone(), |bias| self.op("Add", &[&product, bias]))
    }

    /// Where each number is neither infinite nor none.
    pub fn is_finite(&mut self, value: &Value) -> Value {
        let (none, infinite) = (self.op("IsNaN", &[value]), self.op("IsInf", &[value]));
        let either = self.op("Or", &[&none, &infinite]);
        self.op("Not", &[&either])
    }

    /// Whether a condition holds along the whole last axis.
    pub fn all(&mut self, condition: &Value) -> Value {
        let numbers = self.cast(condition, Element::Float);
        let least = self.reduce("ReduceMin", &numbers);
        self.cast(&least, Element::Bool)
    }

    /// Whether a condition holds anywhere along the last axis.
    pub fn any(&mut self, condition: &Value) -> Value {
        let numbers = self.cast(condition, Element::Float);
        let most = self.reduce("ReduceMax", &numbers);
        self.cast(&most, Element::Bool)
    }

    /// A reduction in f64 that is no number where any of its values is none: those of ONNX Runtime
    /// take any number over that.
    pub fn strict(&mut self, kind: &str, value: &Value) -> Value {
        let none = self.op("IsNaN", &[value]);
        let (spoilt, reduced) = (self.any(&none), self.reduce(kind, value));
        self.none_where(&spoilt, &reduced)
    }

    /// A value in f64, zero where it is less; what is no number stays none.
    pub fn not_negative(&mut self, value: &Value) -> Value {
        let zero = self.double(0.0);
        self.zero_below(value, &zero)
    }

    /// A value in f64, zero where it is less than a limit; what is no number stays none.
    pub fn zero_below(&mut self, value: &Value, limit: &Value) -> Value {
        let zero = self.double(0.0);
        let below = self.op("Less", &[value, limit]);
        self.op("Where", &[&below, &zero, value])
    }

    /// A value in f64 without its numbers where a condition holds.
    pub fn none_where(&mut self, condition: &Value, value: &Value) -> Value {
        let none = self.double(f64::NAN);
        self.op("Where", &[condition, &none, value])
    }

    /// `ln sum exp` of every row, shifted by its largest.
    pub fn log_sum_exp(&mut self, value: &Value) -> Value {
        let most = self.strict("ReduceMax", value);
        let shifted = self.op("Sub", &[value, &most]);
        let terms = self.op("Exp", &[&shifted]);
        let sum = self.reduce("ReduceSum", &terms);
        let log = self.op("Log", &[&sum]);
        self.op("Add", &[&most, &log])
    }

    /// The direction of every row in f32, its length taken in f64.
    pub fn direction(&mut self, rows: &Value) -> (Value, Value) {
        let wide = self.cast(rows, Element::Double);
        let square = self.reduce("ReduceSumSquare", &wide);
        let length = self.op("Sqrt", &[&square]);
        let least = self.double(f64::MIN_POSITIVE);
        let divisor = self.op("Max", &[&length, &least]);
        let unit = self.op("Div", &[&wide, &divisor]);
        (length, self.cast(&unit, Element::Float))
    }

    /// Somebody else's graph as a part of this one: its inputs are values of ours, and a tensor of
    /// it is what it gives. Its names get a beginning that no others have.
    pub fn splice(&mut self, file: File, bound: &[(String, Value)], output: &str) -> Value {
        let renamed = |name: &str| {
            let given = bound.iter().find(|(input, _)| input == name);
            match given {
                Some((_, value)) => value.0.clone(),
                None if name.is_empty() => String::new(),
                None => format!("sngp/encoder/{name}"),
            }
        };
        for tensor in file.graph.initializer {
            let name = renamed(&tensor.name);
            self.written.initializer.push(proto::Tensor { name, ..tensor });
        }
        for node in file.graph.node {
            self.written.node.push(proto::Node {
                input: node.input.iter().map(|name| renamed(name)).collect(),
                output: node.output.iter().map(|name| renamed(name)).collect(),
                // Names of nodes are nobody's inputs, and many have none.
                name: match node.name.as_str() {
                    "" => String::new(),
                    name => format!("sngp/encoder/{name}"),
                },
                ..node
            });
        }
        self.joined = (file.operators, file.ir_version);
        Value(renamed(output))
    }

    /// The operator sets that the file has to name, those of ours and those of a part, and the
    /// version of its format.
    pub fn operators(
        &self,
        own: &[(&str, i64)],
        ir_version: i64,
    ) -> (Vec<proto::OperatorSet>, i64) {
        let (joined, joined_version) = &self.joined;
        let is = |set: &proto::OperatorSet, domain: &str| {
            set.domain == domain || is_standard(&set.domain) && is_standard(domain)
        };
        let mut sets: Vec<proto::OperatorSet> = own
            .iter()
            .map(|&(domain, version)| {
                let other = joined.iter().find(|set| is(set, domain)).map_or(0, |set| set.version);
                proto::OperatorSet { domain: domain.to_string(), version: version.max(other) }
            })
            .collect();
        let further = joined.iter().filter(|set| !own.iter().any(|(domain, _)| is(set, domain)));
        sets.extend(further.cloned());
        (sets, ir_version.max(*joined_version))
    }

    /// The nodes and values.
    pub fn finish(self, name: &str) -> proto::Graph {
        proto::Graph { name: name.to_string(), ..self.written }
    }
}

fn attribute(name: &str, value: &Attribute) -> proto::Attribute {
    let named = proto::Attribute { name: name.to_string(), ..Default::default() };
    match value {
        Attribute::Float(value) => proto::Attribute { f: Some(*value), kind: 1, ..named },
        Attribute::Integer(value) => proto::Attribute { i: Some(*value), kind: 2, ..named },
        Attribute::Integers(values) => proto::Attribute { ints: values.clone(), kind: 7, ..named },
        Attribute::Text(text) => {
            proto::Attribute { s: Some(text.as_bytes().to_vec()), kind: 3, ..named }
        }
        Attribute::Texts(values) => {
            let strings = values.iter().map(|text| text.clone().into_bytes()).collect();
            proto::Attribute { strings, kind: 8, ..named }
        }
    }
}

fn described(name: &str, element: Element, shape: &[Size], meaning: &str) -> proto::ValueInfo {
    let size = |size: &Size| match size {
        Size::Rows => proto::Dimension { dim_value: None, dim_param: Some("rows".to_string()) },
        Size::Tokens => proto::Dimension { dim_value: None, dim_param: Some("tokens".to_string()) },
        Size::Of(size) => proto::Dimension { dim_value: Some(*size as i64), dim_param: None },
    };
    let shape = proto::Shape { dim: shape.iter().map(size).collect() };
    let tensor = proto::TensorKind { elem_type: element as i32, shape: Some(shape) };
    proto::ValueInfo {
        name: name.to_string(),
        kind: Some(proto::Kind { tensor_type: Some(tensor) }),
        doc_string: meaning.to_string(),
    }
}
