use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::datatype::Datatype;
use super::flat::Flat;
use super::tensor::{Tensor, Values, shown};
use crate::error::{Result, ServeError};

/// A request to answer some rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InferRequest {
    /// What the client calls it; given back with the answer.
    pub id: Option<String>,
    /// The rows, as tensors.
    pub inputs: Vec<Tensor>,
    /// What of the answers is wanted; everything where nothing is named.
    pub outputs: Vec<RequestedOutput>,
    /// Whether outputs are sent in binary where they do not say so themselves.
    pub binary_outputs: bool,
    /// How long the client waits.
    pub timeout: Option<Duration>,
}

/// An output that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedOutput {
    /// Its name.
    pub name: String,
    /// Whether it is sent in binary; as the others where it is not said.
    pub binary: Option<bool>,
}

#[derive(Deserialize)]
struct Body {
    id: Option<String>,
    #[serde(default)]
    parameters: Map<String, Value>,
    inputs: Vec<Input>,
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    datatype: String,
    shape: Vec<usize>,
    #[serde(default)]
    parameters: Map<String, Value>,
    data: Option<Flat>,
}

#[derive(Deserialize)]
struct Output {
    name: String,
    #[serde(default)]
    parameters: Map<String, Value>,
}

/// Reads a body: JSON, and behind its first `json_length` bytes the binary tensors, where the
/// header `Inference-Header-Content-Length` gave that length.
///
/// ```
/// use bytes::Bytes;
/// use sngp_serve::protocol::{Values, parse_infer};
///
/// let json = r#"{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2],
///     "parameters": {"binary_data_size": 8}}]}"#;
/// let mut body = json.as_bytes().to_vec();
/// body.extend([1.0f32, 2.0].iter().flat_map(|value| value.to_le_bytes()));
/// let request = parse_infer(&Bytes::from(body), Some(json.len()))?;
/// assert_eq!(request.inputs[0].values, Values::Floats(vec![1.0, 2.0]));
/// # Ok::<(), sngp_serve::ServeError>(())
/// ```
pub fn parse_infer(body: &Bytes, json_length: Option<usize>) -> Result<InferRequest> {
    let json_length = json_length.unwrap_or(body.len());
    if json_length > body.len() {
        let found = body.len();
        let message = format!("a header of {json_length} bytes in a body of {found}");
        return Err(ServeError::Invalid(message));
    }
    let mut tail = body.clone();
    let json = tail.split_to(json_length);
    let Body { id, parameters, inputs, outputs } =
        serde_json::from_slice(&json).map_err(|error| {
            ServeError::Invalid(format!("the body is not as it should be: {error}"))
        })?;
    let inputs = inputs.into_iter().map(|input| input.tensor(&mut tail)).collect::<Result<_>>()?;
    if !tail.is_empty() {
        let message = format!("{} bytes behind the last tensor", tail.len());
        return Err(ServeError::Invalid(message));
    }
    let request = InferRequest {
        id,
        inputs,
        outputs: outputs.into_iter().map(Output::requested).collect::<Result<_>>()?,
        binary_outputs: flag(&parameters, "binary_data_output")?.unwrap_or(false),
        timeout: timeout(&parameters)?,
    };
    request.check()?;
    Ok(request)
}

impl InferRequest {
    /// Refuses names that are there twice: one of the two would be ignored.
    pub(crate) fn check(&self) -> Result<()> {
        let mut seen = HashSet::new();
        match self.inputs.iter().find(|input| !seen.insert(input.name.as_str())) {
            Some(twice) => Err(twice_there("input", &twice.name)),
            None => {
                let mut seen = HashSet::new();
                match self.outputs.iter().find(|output| !seen.insert(output.name.as_str())) {
                    Some(twice) => Err(twice_there("output", &twice.name)),
                    None => Ok(()),
                }
            }
        }
    }
}

fn twice_there(what: &str, name: &str) -> ServeError {
    ServeError::Invalid(format!("{what} `{}` is there twice", shown(name)))
}

impl Input {
    /// The tensor, by its JSON or by the next bytes of the tail.
    fn tensor(self, tail: &mut Bytes) -> Result<Tensor> {
        let name = shown(&self.name);
        let about = |error: ServeError| match error {
            ServeError::Invalid(reason) => ServeError::Invalid(format!("input `{name}`: {reason}")),
            other => other,
        };
        refuse_shared_memory(&self.parameters).map_err(about)?;
        let datatype = Datatype::parse(&self.datatype).map_err(about)?;
        let values = match (size(&self.parameters).map_err(about)?, self.data) {
            (Some(_), Some(_)) => {
                let message = "it has `data` and `binary_data_size`; one of them is enough";
                return Err(about(ServeError::invalid(message)));
            }
            (None, None) => {
                let message = "it has neither `data` nor `binary_data_size`";
                return Err(about(ServeError::invalid(message)));
            }
            (None, Some(flat)) => Values::from_flat(datatype, flat).map_err(about)?,
            (Some(size), None) if size > tail.len() => {
                let message = format!("{size} bytes where {} are left", tail.len());
                return Err(about(ServeError::Invalid(message)));
            }
            (Some(size), None) => {
                Values::from_raw(datatype, &tail.split_to(size)).map_err(about)?
            }
        };
        Tensor::new(&self.name, datatype, self.shape, values)
    }
}

impl Output {
    fn requested(self) -> Result<RequestedOutput> {
        refuse_shared_memory(&self.parameters)?;
        if self.parameters.get("classification").is_some_and(|count| count.as_u64() != Some(0)) {
            let message = "the classification extension is not spoken; ask for `probabilities`";
            return Err(ServeError::invalid(message));
        }
        Ok(RequestedOutput { binary: flag(&self.parameters, "binary_data")?, name: self.name })
    }
}

fn refuse_shared_memory(parameters: &Map<String, Value>) -> Result<()> {
    match parameters.keys().any(|key| key.starts_with("shared_memory")) {
        true => Err(ServeError::invalid("shared memory is not spoken; send the tensor")),
        false => Ok(()),
    }
}

fn size(parameters: &Map<String, Value>) -> Result<Option<usize>> {
    let Some(value) = parameters.get("binary_data_size") else { return Ok(None) };
    let size = value.as_u64().and_then(|size| usize::try_from(size).ok());
    size.map(Some).ok_or_else(|| ServeError::invalid("`binary_data_size` is no number of bytes"))
}

fn flag(parameters: &Map<String, Value>, name: &str) -> Result<Option<bool>> {
    match parameters.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(_) => Err(ServeError::Invalid(format!("`{name}` is neither true nor false"))),
    }
}

/// The protocol counts in microseconds; 0 is no limit.
fn timeout(parameters: &Map<String, Value>) -> Result<Option<Duration>> {
    match parameters.get("timeout") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let micros = value
                .as_u64()
                .ok_or_else(|| ServeError::invalid("`timeout` is no number of microseconds"))?;
            Ok(Some(micros).filter(|micros| *micros > 0).map(Duration::from_micros))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(json: &str, tail: &[u8]) -> Result<InferRequest> {
        let body = [json.as_bytes(), tail].concat();
        parse_infer(&Bytes::from(body), Some(json.len()))
    }

    #[test]
    fn json_and_binary_tensors_come_together() {
        let json = r#"{"id": "7", "parameters": {"timeout": 5000, "binary_data_output": true},
            "inputs": [
              {"name": "a", "datatype": "BYTES", "shape": [2], "parameters": {"binary_data_size": 10}},
              {"name": "b", "datatype": "FP64", "shape": [2, 1], "data": [[1.5], [null]]},
              {"name": "c", "datatype": "INT64", "shape": [1], "parameters": {"binary_data_size": 8}}],
            "outputs": [{"name": "label", "parameters": {"binary_data": false}}, {"name": "reason"}]}"#;
        let tail = [&b"\x02\0\0\0hi\0\0\0\0"[..], &3i64.to_le_bytes()].concat();
        let request = parsed(json, &tail).unwrap();
        assert_eq!(request.id.as_deref(), Some("7"));
        assert_eq!(request.timeout, Some(Duration::from_millis(5)));
        assert!(request.binary_outputs);
        assert_eq!(request.inputs[0].values, Values::Bytes(vec!["hi".into(), "".into()]));
        assert_eq!(request.inputs[2].values, Values::Numbers(vec![3.0]));
        assert_eq!(request.outputs[0].binary, Some(false));
        assert_eq!(request.outputs[1].binary, None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let one = |input: &str| format!(r#"{{"inputs": [{input}]}}"#);
        for (json, tail, expected) in [
            ("{".to_string(), &b""[..], "not as it should be"),
            ("[]".to_string(), b"", "not as it should be"),
            (one(r#"{"name": "x", "datatype": "FP8", "shape": [1], "data": [1]}"#), b"", "FP32"),
            (
                one(r#"{"name": "x", "datatype": "FP32", "shape": [2], "data": [1]}"#),
                b"",
                "makes 2",
            ),
            (one(r#"{"name": "x", "datatype": "FP32", "shape": [-1], "data": [1]}"#), b"", "-1"),
            (one(r#"{"name": "x", "datatype": "FP32", "shape": [1]}"#), b"", "neither"),
            (
                one(r#"{"name": "x", "datatype": "FP32", "shape": [1],
                    "parameters": {"binary_data_size": 4}}"#),
                b"123",
                "3 are left",
            ),
            (
                one(r#"{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}"#),
                b"4",
                "behind",
            ),
            (
                one(r#"{"name": "x", "datatype": "FP32", "shape": [1], "data": [1],
                    "parameters": {"shared_memory_region": "r"}}"#),
                b"",
                "shared memory",
            ),
            (
                one(r#"{"name": "x", "datatype": "FP32", "shape": [4294967296, 4294967296, 2],
                    "data": [1]}"#),
                b"",
                "too large",
            ),
            (one(&format!("{}1{}", "[".repeat(500), "]".repeat(500))), b"", "should be"),
        ] {
            let error = parsed(&json, tail).unwrap_err();
            assert_eq!(error.http(), 400);
            assert!(error.to_string().contains(expected), "{json}: {error}");
        }
        let twice = r#"{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}"#;
        let error = parsed(&one(&format!("{twice}, {twice}")), b"").unwrap_err();
        assert_eq!(error.to_string(), "input `x` is there twice");
        assert!(parse_infer(&Bytes::from_static(b"{}"), Some(3)).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..200), length in prop::option::of(0usize..300),
        ) {
            let _ = parse_infer(&Bytes::from(bytes), length);
        }
    }
}
