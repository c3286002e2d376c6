//! Answers as output tensors, by the signature's names.

use bytes::Bytes;
use sngp_pipeline::{Answer, AnswerValue, Detail, Field, FieldKind, Signature};

use crate::error::{Result, ServeError};
use crate::protocol::{Datatype, InferRequest, Tensor, Values, shown};

/// The outputs of a model that somebody wants, in the order that was asked for.
#[derive(Clone, Debug)]
pub struct Wanted(Vec<(Field, bool)>);

impl Wanted {
    /// What a request asks for: everything where it names nothing; an unknown name is an error.
    pub fn of(request: &InferRequest, signature: &Signature) -> Result<Self> {
        if request.outputs.is_empty() {
            let all = signature.outputs.iter().cloned();
            return Ok(Self(all.map(|field| (field, request.binary_outputs)).collect()));
        }
        let wanted = request.outputs.iter().map(|output| {
            let field = signature.outputs.iter().find(|field| field.name == output.name);
            let field = field.ok_or_else(|| {
                let known: Vec<&str> = signature.outputs.iter().map(|f| f.name.as_str()).collect();
                let name = shown(&output.name);
                ServeError::Invalid(format!("no output `{name}`; there are {}", known.join(", ")))
            })?;
            Ok((field.clone(), output.binary.unwrap_or(request.binary_outputs)))
        });
        Ok(Self(wanted.collect::<Result<_>>()?))
    }

    /// How much the pipeline has to tell for that.
    pub fn detail(&self) -> Detail {
        let named = |name: &str| self.0.iter().any(|(field, _)| field.name == name);
        Detail { probabilities: named("probabilities"), logits: named("logits") }
    }

    /// The tensors, each with whether it is sent in binary.
    pub fn tensors(&self, answers: &[Answer]) -> Result<Vec<(Tensor, bool)>> {
        let tensor = |(field, binary): &(Field, bool)| Ok((output(field, answers)?, *binary));
        self.0.iter().map(tensor).collect()
    }
}

/// The datatype of an output.
pub fn output_datatype(field: &Field) -> Datatype {
    match field.kind {
        FieldKind::Text | FieldKind::Category { .. } | FieldKind::Image => Datatype::Bytes,
        FieldKind::Number | FieldKind::Vector => Datatype::Fp64,
    }
}

/// The datatype that an input is described with; others are taken too where they can be.
pub fn input_datatype(field: &Field) -> Datatype {
    match field.kind {
        FieldKind::Text | FieldKind::Category { .. } | FieldKind::Image => Datatype::Bytes,
        FieldKind::Vector => Datatype::Fp32,
        FieldKind::Number => Datatype::Fp64,
    }
}

/// One output of all answers; what an answer does not have is not a number, or no text.
fn output(field: &Field, answers: &[Answer]) -> Result<Tensor> {
    let width = match field.shape[..] {
        [_, width] => Some(usize::try_from(width).unwrap_or(0)),
        _ => None,
    };
    let datatype = output_datatype(field);
    let values = match (datatype, width) {
        (Datatype::Bytes, _) => Values::Bytes(answers.iter().map(|a| text(field, a)).collect()),
        (_, None) => Values::Numbers(answers.iter().map(|a| number(field, a)).collect()),
        (_, Some(width)) => {
            let mut all = Vec::with_capacity(width * answers.len());
            for answer in answers {
                match answer.value(&field.name) {
                    Some(AnswerValue::Numbers(row)) if row.len() == width => all.extend(row),
                    _ => all.extend(std::iter::repeat_n(f64::NAN, width)),
                }
            }
            Values::Numbers(all)
        }
    };
    let shape = std::iter::once(answers.len()).chain(width).collect();
    Tensor::new(&field.name, datatype, shape, values)
}

fn text(field: &Field, answer: &Answer) -> Bytes {
    match answer.value(&field.name) {
        Some(AnswerValue::Text(text)) => Bytes::from(text.into_owned()),
        _ => Bytes::new(),
    }
}

fn number(field: &Field, answer: &Answer) -> f64 {
    match answer.value(&field.name) {
        Some(AnswerValue::Number(number)) => number,
        _ => f64::NAN,
    }
}

/// An answer as an object, for people: what it does not have is left out.
pub fn object(signature: &Signature, answer: &Answer) -> serde_json::Value {
    let mut object = serde_json::Map::new();
    for field in &signature.outputs {
        let value = match answer.value(&field.name) {
            None => continue,
            Some(AnswerValue::Number(number)) => number.into(),
            Some(AnswerValue::Text(text)) => text.into(),
            // By class: nobody counts places in a list.
            Some(AnswerValue::Numbers(numbers)) => {
                let named =
                    signature.labels.iter().cloned().zip(numbers.iter().map(|n| (*n).into()));
                serde_json::Value::Object(named.collect())
            }
        };
        object.insert(field.name.clone(), value);
    }
    object.into()
}
