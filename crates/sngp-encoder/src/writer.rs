//! Operators and weights, added to a graph.

use crate::proto::{Attribute, Graph, Node, Tensor};

/// An option of an operator.
#[derive(Clone, Copy, Debug)]
pub enum Setting<'a> {
    Integer(i64),
    Integers(&'a [i64]),
    Number(f32),
}

/// Adds to a graph. Everything added is called by the prefix and where it stands.
pub struct Writer<'a> {
    pub graph: &'a mut Graph,
    prefix: &'static str,
}

impl<'a> Writer<'a> {
    /// No tensor of the graph has a name that begins with the prefix yet.
    pub fn new(graph: &'a mut Graph, prefix: &'static str) -> Self {
        Self { graph, prefix }
    }

    /// Adds an operator with one output, whose name is given back.
    pub fn put(
        &mut self,
        operator: &str,
        inputs: &[&str],
        options: &[(&str, Setting<'_>)],
    ) -> String {
        let name = format!("{}/{operator}_{}", self.prefix, self.graph.node.len());
        self.put_as(operator, inputs, options, &name);
        name
    }

    /// The same with an output of a given name.
    pub fn put_as(
        &mut self,
        operator: &str,
        inputs: &[&str],
        options: &[(&str, Setting<'_>)],
        name: &str,
    ) {
        self.graph.node.push(Node {
            input: inputs.iter().map(|name| name.to_string()).collect(),
            output: vec![name.to_string()],
            name: name.to_string(),
            op_type: operator.to_string(),
            attribute: options.iter().map(attribute).collect(),
            domain: String::new(),
        });
    }

    /// A value in another shape: 0 keeps a size, -1 is what is left.
    pub fn reshape(&mut self, value: &str, shape: &[i64]) -> String {
        let shape = self.integers(&[shape.len()], shape);
        self.put("Reshape", &[value, &shape], &[])
    }

    /// Adds constant integers.
    pub fn integers(&mut self, dims: &[usize], values: &[i64]) -> String {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(7, dims, bytes)
    }

    /// Adds constant numbers.
    pub fn numbers(&mut self, dims: &[usize], values: &[f32]) -> String {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(1, dims, bytes)
    }

    fn constant(&mut self, kind: i32, dims: &[usize], raw: Vec<u8>) -> String {
        let name = format!("{}/constant_{}", self.prefix, self.graph.initializer.len());
        self.graph.initializer.push(Tensor {
            dims: dims.iter().map(|&dim| dim as i64).collect(),
            data_type: kind,
            name: name.clone(),
            raw_data: Some(raw),
            ..Default::default()
        });
        name
    }
}

fn attribute((name, setting): &(&str, Setting<'_>)) -> Attribute {
    let named = Attribute { name: name.to_string(), ..Default::default() };
    match *setting {
        Setting::Integer(value) => Attribute { i: Some(value), kind: 2, ..named },
        Setting::Integers(values) => Attribute { ints: values.to_vec(), kind: 7, ..named },
        Setting::Number(value) => Attribute { f: Some(value), kind: 1, ..named },
    }
}
