use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;

use super::body::{content_type, parse, read};
use super::openapi::{Fault, InferAnswer, InferBody};
use super::respond::{JSON_LENGTH, written};
use crate::error::{Result, ServeError};
use crate::model::VERSION;
use crate::outputs::Wanted;
use crate::protocol::{InferResponse, parse_infer};
use crate::server::{App, Arrived};

/// Types that a body of tensors is sent as: `curl -d` says that it is a form.
const KINDS: [&str; 4] = [
    "application/json",
    "application/octet-stream",
    "application/vnd.sagemaker-triton.binary+json",
    "application/x-www-form-urlencoded",
];

/// The answers to the rows of some tensors, in JSON or in binary. A version may be named before
/// `/infer`: `/versions/1`.
#[utoipa::path(
    post, path = "/v2/models/{model}/infer", tag = "open inference protocol",
    params(("model" = String, Path, description = "The name of a model")),
    request_body = InferBody,
    responses(
        (status = 200, body = InferAnswer, description = "An answer to every row"),
        (status = 400, body = Fault, description = "The request makes no sense to this model"),
        (status = 404, body = Fault, description = "No such model or version"),
        (status = 413, body = Fault, description = "Too many bytes or rows"),
        (status = 415, body = Fault, description = "A type or encoding that is not read"),
        (status = 429, body = Fault, description = "Too much to do; `Retry-After` says when"),
        (status = 503, body = Fault, description = "Shutting down"),
        (status = 504, body = Fault, description = "The deadline passed"),
    )
)]
pub async fn infer(
    State(app): State<Arc<App>>,
    Path(path): Path<HashMap<String, String>>,
    request: Request,
) -> Result<Response> {
    let arrived = Arrived::now();
    let name = path.get("model").map_or("", String::as_str);
    let served = app.models.get(name, path.get("version").map(String::as_str))?;
    let _place = app.admission.enter()?;
    let (parts, body) = request.into_parts();
    if let Some(kind) = content_type(&parts.headers)
        && !KINDS.contains(&kind.as_str())
    {
        let message = format!("`{kind}` is not read; send {} or {}", KINDS[0], KINDS[1]);
        return Err(ServeError::Unreadable(message));
    }
    let json_length = match parts.headers.get(JSON_LENGTH) {
        None => None,
        Some(value) => Some(
            value
                .to_str()
                .ok()
                .and_then(|text| text.parse::<usize>().ok())
                .ok_or_else(|| ServeError::Invalid(format!("`{JSON_LENGTH}` is no number")))?,
        ),
    };
    let (body, _room) = read(&app, &parts.headers, body).await?;
    let loaded = served.current();
    let (intake, most) = (loaded.clone(), app.settings.max_rows);
    let read = move |body| {
        let mut request = parse_infer(&body, json_length)?;
        let wanted = Wanted::of(&request, &intake.signature)?;
        let inputs = std::mem::take(&mut request.inputs);
        Ok((intake.intake.rows_of_tensors(&inputs, most)?, wanted, request))
    };
    let (rows, wanted, request) = parse(body, read).await?;
    let deadline = arrived.deadline(&app, request.timeout);
    let answers = served.answer(&loaded, rows, wanted.detail(), deadline).await?;
    let response = InferResponse {
        model: served.name.clone(),
        version: VERSION.to_string(),
        id: request.id,
        outputs: wanted.tensors(&answers)?,
    };
    written(response.write()?, &parts.headers)
}
