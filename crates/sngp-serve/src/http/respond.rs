use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;

use crate::error::{Result, ServeError};
use crate::protocol::{Encoding, WrittenResponse};

/// Bodies below this are not worth compressing.
const SMALL: usize = 1024;
/// How much of a binary response is JSON.
pub const JSON_LENGTH: &str = "inference-header-content-length";

#[derive(Serialize)]
struct Fault<'a> {
    error: &'a str,
}

impl IntoResponse for ServeError {
    fn into_response(self) -> Response {
        let text = self.to_string();
        let mut response = json_with(self.http(), &Fault { error: &text });
        if let Self::Overloaded { retry_after } = self {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry_after));
        }
        response
    }
}

/// An object as JSON.
pub fn json(value: &impl Serialize) -> Response {
    json_with(StatusCode::OK, value)
}

fn json_with(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => {
            let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
            (status, headers, body).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A response of the protocol, compressed where the client asked for that.
pub fn written(response: WrittenResponse, asked: &HeaderMap) -> Result<Response> {
    let WrittenResponse { body, json_length } = response;
    let accepted = asked.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let encoding = accepted.filter(|_| body.len() >= SMALL).map(Encoding::accepted);
    let encoding = encoding.unwrap_or(Encoding::Identity);
    let kind = match json_length {
        Some(_) => "application/octet-stream",
        None => "application/json",
    };
    let body = encoding.compress(body)?;
    let mut response = ([(CONTENT_TYPE, HeaderValue::from_static(kind))], body).into_response();
    let headers = response.headers_mut();
    if let Some(length) = json_length {
        headers.insert(JSON_LENGTH, HeaderValue::from(length));
    }
    if let Some(name) = encoding.name() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    Ok(response)
}
