//! The OpenAPI document, and the shapes it names.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

/// Why there is no answer.
#[derive(Serialize, ToSchema)]
pub struct Fault {
    /// What is wrong, and what would be right.
    pub error: String,
}

/// One row for `/v1/predict`, or a list of such; the key that the model takes.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum Row {
    /// For models of text.
    Text {
        /// A sentence.
        text: String,
    },
    /// For models of tables.
    Features {
        /// Numbers and texts by column.
        features: HashMap<String, serde_json::Value>,
    },
    /// For models of vectors.
    Vector {
        /// As many numbers as the model takes.
        vector: Vec<f32>,
    },
    /// For models of images.
    Image {
        /// A PNG or JPEG file as base64.
        image: String,
    },
}

/// An answer of `/v1/predict`. What it does not have is left out.
#[derive(Serialize, ToSchema)]
pub struct Answered {
    /// The most probable class.
    pub label: Option<String>,
    /// Its probability.
    pub probability: Option<f64>,
    /// Those of all classes, by name.
    pub probabilities: Option<HashMap<String, f64>>,
    /// The predicted number, for models of numbers.
    pub value: Option<f64>,
    /// How uncertain that is; higher is less certain.
    pub uncertainty: Option<f64>,
    /// The share of held-out rows that were less uncertain.
    pub rank: Option<f64>,
    /// `accept` or `abstain`.
    pub decision: String,
    /// Why it abstains.
    pub reason: Option<String>,
}

/// A tensor of the Open Inference Protocol.
#[derive(Serialize, ToSchema)]
pub struct TensorBody {
    /// The input or output.
    pub name: String,
    /// `FP32`, `FP64`, `BYTES`, ..
    #[schema(example = "BYTES")]
    pub datatype: String,
    /// Rows first.
    #[schema(example = json!([1]))]
    pub shape: Vec<u64>,
    /// `binary_data_size` where the elements follow the JSON.
    pub parameters: Option<HashMap<String, serde_json::Value>>,
    /// The elements, flat or nested.
    pub data: Option<Vec<serde_json::Value>>,
}

/// An output that is asked for.
#[derive(Serialize, ToSchema)]
pub struct OutputName {
    /// Its name.
    pub name: String,
    /// `binary_data`.
    pub parameters: Option<HashMap<String, serde_json::Value>>,
}

/// A request of the Open Inference Protocol.
#[derive(Serialize, ToSchema)]
pub struct InferBody {
    /// Given back with the answer.
    pub id: Option<String>,
    /// `timeout` in microseconds, `binary_data_output`.
    pub parameters: Option<HashMap<String, serde_json::Value>>,
    /// The rows.
    pub inputs: Vec<TensorBody>,
    /// What is wanted; everything where it is left out.
    pub outputs: Option<Vec<OutputName>>,
}

/// A response of the Open Inference Protocol.
#[derive(Serialize, ToSchema)]
pub struct InferAnswer {
    /// The model that answered.
    pub model_name: String,
    /// Its version.
    pub model_version: String,
    /// What the client called its request.
    pub id: Option<String>,
    /// The outputs.
    pub outputs: Vec<TensorBody>,
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "sngp",
        description = "Answers, or an honest refusal: the Open Inference Protocol (KServe v2), \
            and `/v1/predict` for people. The same over gRPC is \
            `inference.GRPCInferenceService`, with reflection."
    ),
    paths(
        super::predict::predict,
        super::predict::predict_by,
        super::describe::models,
        super::describe::traffic,
        super::describe::server,
        super::describe::live,
        super::describe::ready,
        super::describe::model,
        super::describe::model_ready,
        super::infer::infer,
        super::pages::metrics,
    ),
    components(schemas(Row))
)]
struct Document;

/// The document.
///
/// ```
/// let document = sngp_serve::openapi::document();
/// assert!(document.paths.paths.contains_key("/v2/models/{model}/infer"));
/// ```
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
