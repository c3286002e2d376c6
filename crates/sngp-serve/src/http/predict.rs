use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use sngp_pipeline::Detail;

use super::body::{content_type, parse, read};
use super::openapi::{Answered, Fault, Row};
use super::respond::json;
use crate::error::{Result, ServeError};
use crate::outputs::object;
use crate::rows::Items;
use crate::server::{App, Arrived};

/// The answers to rows in the form people write them, by the first model. An image may also be the
/// whole body, with its own content type.
#[utoipa::path(
    post, path = "/v1/predict", tag = "for people", request_body = Row,
    responses(
        (status = 200, body = Answered, description = "One answer, or a list where a list was sent"),
        (status = 400, body = Fault, description = "The row makes no sense to this model"),
        (status = 429, body = Fault, description = "Too much to do; `Retry-After` says when"),
    )
)]
pub async fn predict(State(app): State<Arc<App>>, request: Request) -> Result<Response> {
    let first = app.models.all().first().map(|served| served.name.clone());
    answer(app, &first.unwrap_or_default(), request).await
}

/// The same by a model of a name.
#[utoipa::path(
    post, path = "/v1/models/{model}/predict", tag = "for people", request_body = Row,
    params(("model" = String, Path, description = "The name of a model")),
    responses(
        (status = 200, body = Answered, description = "One answer, or a list where a list was sent"),
        (status = 404, body = Fault, description = "No such model"),
    )
)]
pub async fn predict_by(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response> {
    answer(app, &name, request).await
}

async fn answer(app: Arc<App>, name: &str, request: Request) -> Result<Response> {
    let arrived = Arrived::now();
    let served = app.models.get(name, None)?;
    let _place = app.admission.enter()?;
    let (parts, body) = request.into_parts();
    let kind = content_type(&parts.headers);
    let image = kind.as_deref().is_some_and(|kind| kind.starts_with("image/"));
    let known = ["application/json", "text/json", "application/x-www-form-urlencoded"];
    if let Some(kind) = kind.as_deref().filter(|kind| !image && !known.contains(kind)) {
        let message = format!("`{kind}` is not read; send application/json");
        return Err(ServeError::Unreadable(message));
    }
    let (body, _room) = read(&app, &parts.headers, body).await?;
    let loaded = served.current();
    let (intake, most) = (loaded.clone(), app.settings.max_rows);
    let read = move |body: bytes::Bytes| {
        if image {
            return Ok((intake.intake.row_of_file(&body)?, true));
        }
        let items = Items::parse(&body)?;
        Ok((intake.intake.rows_of_items(&items, most)?, items.is_one()))
    };
    let (rows, one) = parse(body, read).await?;
    let detail = Detail { probabilities: true, logits: false };
    let answers = served.answer(&loaded, rows, detail, arrived.deadline(&app, None)).await?;
    let mut objects: Vec<_> = answers
        .iter()
        .map(|answer| {
            let mut object = object(&loaded.signature, answer);
            let rank = answer.uncertainty.and_then(|value| loaded.monitor.rank(value));
            if let (Some(rank), Some(object)) = (rank, object.as_object_mut()) {
                object.insert("rank".to_string(), rank.into());
            }
            object
        })
        .collect();
    if one && objects.len() == 1 {
        return Ok(json(&objects.swap_remove(0)));
    }
    Ok(json(&objects))
}
