//! The Open Inference Protocol: requests and responses, in JSON and with binary tensors.
//!
//! Nothing in here knows a model or a connection, so that all of it can be tested, and fuzzed, by
//! bytes alone: [`parse_infer`] is everything between a body and tensors.

mod datatype;
pub(crate) mod encoding;
mod flat;
mod request;
mod response;
mod tensor;

pub use datatype::Datatype;
pub use encoding::{Encoding, decompress};
pub use flat::Flat;
pub use request::{InferRequest, RequestedOutput, parse_infer};
pub use response::{InferResponse, WrittenResponse};
pub(crate) use tensor::shown;
pub use tensor::{Tensor, Values};
