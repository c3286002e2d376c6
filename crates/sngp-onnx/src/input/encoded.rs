//! Somebody else's encoder as a part of the graph.

use sngp::{Error, Result};
use sngp_encoder::{Encoder, FEATURES, File, Pixels, Takes};
use sngp_pipeline::Pipeline;

use super::{Prepared, finite_vectors, tokens};
use crate::graph::{Attribute, Element, Graph, Size, Value};
use crate::upgrade::upgraded;

pub fn prepared(graph: &mut Graph, pipeline: &Pipeline) -> Result<Prepared> {
    let missing = || Error::Data("the encoder is not loaded".to_string());
    let encoder = pipeline.encoder().ok_or_else(missing)?;
    let file = File::from_bytes(encoder.bytes()).map_err(Error::Data)?;
    let file = upgraded(file)?;
    match encoder.takes() {
        Takes::Texts(cut) => of_tokens(graph, encoder, file, cut.max_tokens),
        Takes::Images(pixels) => Ok(of_pixels(graph, pixels, file)),
    }
}

fn of_tokens(
    graph: &mut Graph,
    encoder: &Encoder,
    file: File,
    max_tokens: usize,
) -> Result<Prepared> {
    let missing = || Error::Data("the encoder has no tokenizer".to_string());
    let tokenizer = encoder.tokenizer().ok_or_else(missing)?;
    let read = tokens::read(graph, tokenizer, tokenizer.vocabulary(), max_tokens)?;
    let (ids, mask) = (read.ids, graph.cast(&read.counts, Element::Integer));
    let zero = graph.integer(0);
    let nothing = graph.op("Mul", &[&ids, &zero]);
    let features = joined(graph, file, |name| match name {
        "input_ids" => &ids,
        "attention_mask" => &mask,
        _ => &nothing,
    });
    let vectors = finite_vectors(graph, &features);
    let valid = graph.op("And", &[&read.valid, &vectors.valid]);
    Ok(Prepared { valid, oddity: Some(read.oddity), ..vectors })
}

fn of_pixels(graph: &mut Graph, pixels: &Pixels, file: File) -> Prepared {
    let shape = [Size::Rows, Size::Of(3), Size::Of(pixels.height), Size::Of(pixels.width)];
    let meaning = "red, green and blue of every pixel, of images resized as sngp.preparation says";
    let bytes = graph.input("pixels", Element::Byte, &shape, meaning);
    let numbers = graph.cast(&bytes, Element::Float);
    let mean = graph.weights("sngp/pixels/mean", &[1, 3, 1, 1], &pixels.mean);
    let scale = graph.weights("sngp/pixels/scale", &[1, 3, 1, 1], &pixels.scale);
    let factor = graph.float(pixels.factor);
    let scaled = graph.op("Mul", &[&numbers, &factor]);
    let centred = graph.op("Sub", &[&scaled, &mean]);
    let mut taken = graph.op("Div", &[&centred, &scale]);
    if pixels.channels_last {
        let last = Attribute::Integers(vec![0, 2, 3, 1]);
        taken = graph.op_with("Transpose", &[&taken], &[("perm", last)]);
    }
    let features = joined(graph, file, |_| &taken);
    finite_vectors(graph, &features)
}

/// The encoder's features of values, each as its input wants it.
fn joined<'a>(graph: &mut Graph, file: File, value: impl Fn(&str) -> &'a Value) -> Value {
    let mut bound = Vec::new();
    for input in file.inputs() {
        let kind = input.kind.as_ref().and_then(|kind| kind.tensor_type.as_ref());
        let given = value(&input.name);
        let wanted = kind.map(|kind| Attribute::Integer(kind.elem_type.into()));
        let given = wanted.map_or_else(
            || given.clone(),
            |wanted| graph.op_with("Cast", &[given], &[("to", wanted)]),
        );
        bound.push((input.name.clone(), given));
    }
    graph.splice(file, &bound, FEATURES)
}
