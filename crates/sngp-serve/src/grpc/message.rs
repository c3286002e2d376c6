//! Messages to requests, and answers to messages.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;

use super::generated::infer_parameter::ParameterChoice;
use super::generated::model_infer_request::InferInputTensor;
use super::generated::model_infer_response::InferOutputTensor;
use super::generated::{
    InferParameter, InferTensorContents, ModelInferRequest, ModelInferResponse,
};
use crate::error::{Result, ServeError};
use crate::protocol::{
    Datatype, Flat, InferRequest, InferResponse, RequestedOutput, Tensor, Values, shown,
};

/// Reads the bytes of a `ModelInferRequest`.
///
/// ```
/// use sngp_serve::parse_infer_message;
///
/// assert!(parse_infer_message(b"").unwrap().inputs.is_empty());
/// assert!(parse_infer_message(&[0xff; 9]).is_err());
/// ```
pub fn parse_infer_message(bytes: &[u8]) -> Result<InferRequest> {
    let message = ModelInferRequest::decode(bytes)
        .map_err(|error| ServeError::Invalid(format!("no message: {error}")))?;
    request_of_message(message)
}

/// The request that a message is.
pub(super) fn request_of_message(message: ModelInferRequest) -> Result<InferRequest> {
    let ModelInferRequest { inputs, outputs, raw_input_contents, .. } = message;
    let raw = !raw_input_contents.is_empty();
    if raw && raw_input_contents.len() != inputs.len() {
        let (found, wanted) = (raw_input_contents.len(), inputs.len());
        return Err(ServeError::Invalid(format!("{found} raw contents of {wanted} inputs")));
    }
    let mut contents = raw_input_contents.into_iter();
    let tensors = inputs.into_iter().map(|input| tensor(input, contents.next()));
    let requested = outputs.into_iter().map(|output| {
        refuse(&output.parameters)?;
        Ok(RequestedOutput { name: output.name, binary: None })
    });
    let request = InferRequest {
        id: Some(message.id).filter(|id| !id.is_empty()),
        inputs: tensors.collect::<Result<_>>()?,
        outputs: requested.collect::<Result<_>>()?,
        binary_outputs: true,
        timeout: timeout(&message.parameters)?,
    };
    request.check()?;
    Ok(request)
}

fn tensor(input: InferInputTensor, raw: Option<Bytes>) -> Result<Tensor> {
    let name = shown(&input.name);
    let about = |error: ServeError| match error {
        ServeError::Invalid(reason) => ServeError::Invalid(format!("input `{name}`: {reason}")),
        other => other,
    };
    refuse(&input.parameters).map_err(about)?;
    let datatype = Datatype::parse(&input.datatype).map_err(about)?;
    let shape = input.shape.iter().map(|side| {
        usize::try_from(*side)
            .map_err(|_| about(ServeError::Invalid(format!("a side of {side} in its shape"))))
    });
    let shape = shape.collect::<Result<Vec<usize>>>()?;
    let values = match (raw, input.contents) {
        (Some(_), Some(contents)) if contents != InferTensorContents::default() => {
            let message = "it has contents, and raw ones too; one of them is enough";
            return Err(about(ServeError::invalid(message)));
        }
        (Some(raw), _) => Values::from_raw(datatype, &raw).map_err(about)?,
        (None, contents) => typed(datatype, contents.unwrap_or_default()).map_err(about)?,
    };
    Tensor::new(&input.name, datatype, shape, values)
}

/// Contents with a type, each in the list that the protocol has for it.
fn typed(datatype: Datatype, contents: InferTensorContents) -> Result<Values> {
    fn numbers<T: Into<f64> + Copy>(values: &[T]) -> Flat {
        Flat::Numbers(values.iter().map(|value| (*value).into()).collect())
    }
    let flat = match datatype {
        Datatype::Bytes => return Ok(Values::Bytes(contents.bytes_contents)),
        Datatype::Fp32 => return Ok(Values::Floats(contents.fp32_contents)),
        Datatype::Fp64 => return Ok(Values::Numbers(contents.fp64_contents)),
        Datatype::Bool => {
            Flat::Numbers(contents.bool_contents.iter().map(|b| f64::from(u8::from(*b))).collect())
        }
        Datatype::Int8 | Datatype::Int16 | Datatype::Int32 => numbers(&contents.int_contents),
        Datatype::Uint8 | Datatype::Uint16 | Datatype::Uint32 => numbers(&contents.uint_contents),
        Datatype::Int64 => {
            Flat::Numbers(contents.int64_contents.iter().map(|value| *value as f64).collect())
        }
        Datatype::Uint64 => {
            Flat::Numbers(contents.uint64_contents.iter().map(|value| *value as f64).collect())
        }
    };
    Values::from_flat(datatype, flat)
}

fn refuse(parameters: &HashMap<String, InferParameter>) -> Result<()> {
    if parameters.keys().any(|key| key.starts_with("shared_memory")) {
        return Err(ServeError::invalid("shared memory is not spoken; send the tensor"));
    }
    if parameters.contains_key("classification") {
        let message = "the classification extension is not spoken; ask for `probabilities`";
        return Err(ServeError::invalid(message));
    }
    Ok(())
}

/// Microseconds, in any of the types that numbers are sent as; 0 is no limit.
fn timeout(parameters: &HashMap<String, InferParameter>) -> Result<Option<Duration>> {
    let Some(parameter) = parameters.get("timeout") else { return Ok(None) };
    let micros = match &parameter.parameter_choice {
        Some(ParameterChoice::Int64Param(value)) => u64::try_from(*value).ok(),
        Some(ParameterChoice::Uint64Param(value)) => Some(*value),
        _ => None,
    };
    let micros =
        micros.ok_or_else(|| ServeError::invalid("`timeout` is no number of microseconds"))?;
    Ok(Some(micros).filter(|micros| *micros > 0).map(Duration::from_micros))
}

/// The message of a response: always raw, since clients read nothing else.
pub(super) fn message_of_response(response: InferResponse) -> ModelInferResponse {
    let raw = response.outputs.iter().map(|(tensor, _)| tensor.values.to_raw()).collect();
    let outputs = response.outputs.into_iter().map(|(tensor, _)| InferOutputTensor {
        name: tensor.name,
        datatype: tensor.datatype.name().to_string(),
        shape: tensor.shape.iter().map(|side| *side as i64).collect(),
        ..Default::default()
    });
    ModelInferResponse {
        model_name: response.model,
        model_version: response.version,
        id: response.id.unwrap_or_default(),
        outputs: outputs.collect(),
        raw_output_contents: raw,
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn input(
        datatype: &str,
        shape: &[i64],
        contents: Option<InferTensorContents>,
    ) -> InferInputTensor {
        InferInputTensor {
            name: "x".to_string(),
            datatype: datatype.to_string(),
            shape: shape.to_vec(),
            contents,
            ..Default::default()
        }
    }

    fn message(inputs: Vec<InferInputTensor>, raw: Vec<Bytes>) -> ModelInferRequest {
        ModelInferRequest { inputs, raw_input_contents: raw, ..Default::default() }
    }

    #[test]
    fn contents_are_raw_or_typed() {
        let raw = Bytes::from(2.5f32.to_le_bytes().to_vec());
        let one = message(vec![input("FP32", &[1], None)], vec![raw.clone()]);
        assert_eq!(request_of_message(one).unwrap().inputs[0].values, Values::Floats(vec![2.5]));
        let contents = InferTensorContents { int_contents: vec![-3], ..Default::default() };
        let one = message(vec![input("INT8", &[1, 1], Some(contents.clone()))], vec![]);
        assert_eq!(request_of_message(one).unwrap().inputs[0].values, Values::Numbers(vec![-3.0]));
        let both = message(vec![input("INT8", &[1], Some(contents.clone()))], vec![raw.clone()]);
        assert!(request_of_message(both).unwrap_err().to_string().contains("one of them"));
        let wide = InferTensorContents { int_contents: vec![300], ..Default::default() };
        for wrong in [
            message(vec![input("INT8", &[1], Some(wide))], vec![]),
            message(vec![input("INT8", &[-1], Some(contents))], vec![]),
            message(vec![input("FP32", &[1], None)], vec![raw.clone(), raw.clone()]),
            message(vec![input("FP64", &[1], None)], vec![raw.clone()]),
            message(vec![input("FP32", &[1], None)], vec![]),
            message(
                vec![input("FP32", &[1], None), input("FP32", &[1], None)],
                vec![raw.clone(), raw],
            ),
        ] {
            assert_eq!(request_of_message(wrong).unwrap_err().http(), 400);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_infer_message(&bytes);
        }
    }
}
