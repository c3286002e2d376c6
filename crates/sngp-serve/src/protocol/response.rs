use bytes::{Bytes, BytesMut};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use super::tensor::{Tensor, Values};
use crate::error::{Result, ServeError};

/// The answers to the rows of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct InferResponse {
    /// The model that answers.
    pub model: String,
    /// Its version.
    pub version: String,
    /// What the client calls its request.
    pub id: Option<String>,
    /// The outputs, each with whether it is sent in binary.
    pub outputs: Vec<(Tensor, bool)>,
}

/// A response on its way: the body, and how much of it is JSON where binary tensors follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenResponse {
    /// The body.
    pub body: Bytes,
    /// The length of its JSON, if that is not all.
    pub json_length: Option<usize>,
}

#[derive(Serialize)]
struct Head<'a> {
    model_name: &'a str,
    model_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    outputs: Vec<Output<'a>>,
}

#[derive(Serialize)]
struct Output<'a> {
    name: &'a str,
    datatype: &'a str,
    shape: &'a [usize],
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Data<'a>>,
}

#[derive(Serialize)]
struct Size {
    binary_data_size: usize,
}

/// Elements in JSON: what is no number is null.
struct Data<'a>(&'a Values);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0 {
            Values::Numbers(values) => serializer.collect_seq(values),
            Values::Floats(values) => serializer.collect_seq(values),
            Values::Octets(values) => serializer.collect_seq(values),
            Values::Bytes(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(&String::from_utf8_lossy(value))?;
                }
                list.end()
            }
        }
    }
}

impl InferResponse {
    /// Writes the body: JSON, and behind it the binary tensors in the order of the outputs.
    ///
    /// ```
    /// use sngp_serve::protocol::{Datatype, InferResponse, Tensor, Values};
    ///
    /// let label = Tensor::new("label", Datatype::Bytes, vec![1], Values::Bytes(vec!["cat".into()]))?;
    /// let mut response = InferResponse {
    ///     model: "pets".to_string(), version: "1".to_string(), id: None,
    ///     outputs: vec![(label, false)],
    /// };
    /// let written = response.write()?;
    /// assert!(String::from_utf8_lossy(&written.body).contains(r#""data":["cat"]"#));
    /// response.outputs[0].1 = true;
    /// let written = response.write()?;
    /// assert_eq!(&written.body[written.json_length.unwrap()..], b"\x03\0\0\0cat");
    /// # Ok::<(), sngp_serve::ServeError>(())
    /// ```
    pub fn write(&self) -> Result<WrittenResponse> {
        let mut tail = BytesMut::new();
        let outputs = self.outputs.iter().map(|(tensor, binary)| {
            let parameters = binary.then(|| {
                let raw = tensor.values.to_raw();
                tail.extend_from_slice(&raw);
                Size { binary_data_size: raw.len() }
            });
            Output {
                name: &tensor.name,
                datatype: tensor.datatype.name(),
                shape: &tensor.shape,
                parameters,
                data: (!binary).then_some(Data(&tensor.values)),
            }
        });
        let head = Head {
            model_name: &self.model,
            model_version: &self.version,
            id: self.id.as_deref(),
            outputs: outputs.collect(),
        };
        let mut body = serde_json::to_vec(&head).map_err(|error| {
            ServeError::Internal(format!("the answer cannot be written: {error}"))
        })?;
        let json_length = self.outputs.iter().any(|(_, binary)| *binary).then_some(body.len());
        body.extend_from_slice(&tail);
        Ok(WrittenResponse { body: body.into(), json_length })
    }
}
