//! From the graph's inputs to what the network takes, and what is wrong with a row.

mod encoded;
mod table;
mod tokens;

use sngp::{Error, Result};
use sngp_pipeline::Pipeline;
use sngp_pipeline::input::Preparation;

use crate::graph::{Element, Graph, Size, Value};

/// What the network takes, and the state of every row.
pub struct Prepared {
    /// What the network takes; harmless numbers where a row cannot be used.
    pub inputs: Inputs,
    /// Whether a row can be used, `[rows, 1]`.
    pub valid: Value,
    /// Why a row is not answered whatever the network says: a place in [`REASONS`], 0 for no such
    /// reason. `[rows, 1]`; none where no row has one.
    pub oddity: Option<Value>,
}

/// What a network takes.
pub enum Inputs {
    /// Vectors in f32, `[rows, width]`.
    Vectors(Value),
    /// Standardized images in f32, `[rows, channels, height, width]`.
    Images(Value),
    /// Tokens, `[rows, tokens]`, and 1 for real ones in f32.
    Tokens {
        /// Their ids.
        ids: Value,
        /// 1 for a token, 0 for padding.
        real: Value,
    },
}

/// The reasons by their places in the graph: no reason first, then those of
/// [`Reason::ALL`](sngp_pipeline::Reason::ALL).
pub fn reasons() -> Vec<&'static str> {
    std::iter::once("").chain(sngp_pipeline::Reason::ALL.map(|(code, _)| code)).collect()
}

/// The place of a reason.
pub fn reason(graph: &mut Graph, code: &str) -> Result<Value> {
    let place = reasons().iter().position(|known| *known == code);
    let place = place.ok_or_else(|| Error::Data(format!("there is no reason `{code}`")))?;
    Ok(graph.integer(place as i64))
}

/// Declares the inputs and prepares them as the pipeline does.
pub fn prepared(graph: &mut Graph, pipeline: &Pipeline) -> Result<Prepared> {
    match &pipeline.card().preparation {
        Preparation::Table(columns) => table::prepared(graph, columns),
        Preparation::Numbers { columns } => {
            let mut numbers = Vec::new();
            for column in columns {
                let value = column_input(graph, column, Element::Double, "a number");
                numbers.push(graph.cast(&value, Element::Float));
            }
            let numbers: Vec<&Value> = numbers.iter().collect();
            let vectors = graph.concat(&numbers, 1);
            Ok(finite_vectors(graph, &vectors))
        }
        Preparation::Vectors { vectors, width } => {
            let shape = [Size::Rows, Size::Of(*width)];
            let vectors = graph.input(vectors, Element::Float, &shape, "vectors");
            Ok(finite_vectors(graph, &vectors))
        }
        Preparation::Images(images) => {
            let shape = [Size::Rows, Size::Of(3), Size::Of(images.size), Size::Of(images.size)];
            let meaning = "red, green and blue of every pixel, of images resized to a square";
            let pixels = graph.input("pixels", Element::Byte, &shape, meaning);
            let pixels = graph.cast(&pixels, Element::Float);
            let mean = graph.weights("sngp/pixels/mean", &[1, 3, 1, 1], &images.mean);
            let scale = graph.weights("sngp/pixels/scale", &[1, 3, 1, 1], &images.scale);
            let white = graph.float(255.0);
            let share = graph.op("Div", &[&pixels, &white]);
            let centred = graph.op("Sub", &[&share, &mean]);
            let inputs = Inputs::Images(graph.op("Div", &[&centred, &scale]));
            // Every byte is a pixel.
            let valid = every_row(graph, &pixels);
            Ok(Prepared { inputs, valid, oddity: None })
        }
        Preparation::Sentences { .. } => tokens::prepared(graph, pipeline),
        Preparation::Encoded(_) => encoded::prepared(graph, pipeline),
        Preparation::Ngrams(_) | Preparation::Texts(_) => Err(Error::Unsupported(
            "a text's n-grams are hashed, which ONNX has no operator for; train through an \
             encoder, whose tokens are numbers"
                .to_string(),
        )),
    }
}

/// A column of a table, as `[rows, 1]`.
fn column_input(graph: &mut Graph, name: &str, element: Element, meaning: &str) -> Value {
    let column = graph.input(name, element, &[Size::Rows], meaning);
    let axis = graph.integers(&[1]);
    graph.op("Unsqueeze", &[&column, &axis])
}

/// Vectors, with zeros in place of what is not finite.
fn finite_vectors(graph: &mut Graph, vectors: &Value) -> Prepared {
    let finite = graph.is_finite(vectors);
    let valid = graph.all(&finite);
    let zero = graph.float(0.0);
    let inputs = Inputs::Vectors(graph.op("Where", &[&valid, vectors, &zero]));
    Prepared { inputs, valid, oddity: None }
}

/// True for every row of pixels.
fn every_row(graph: &mut Graph, pixels: &Value) -> Value {
    let flat = graph.op_with("Flatten", &[pixels], &[]);
    let finite = graph.is_finite(&flat);
    graph.all(&finite)
}
