//! Pages for people and for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{Method, Uri};

use super::respond::json;
use crate::error::ServeError;
use crate::server::App;

const HOME: &str = include_str!("../page/home.html");
const DOCS: &str = include_str!("../page/docs.html");
/// Pages ask nobody but this server, and run nothing but what is in them.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
     img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

fn page(text: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}

pub async fn home() -> Response {
    page(HOME)
}

pub async fn docs() -> Response {
    page(DOCS)
}

pub async fn openapi() -> Response {
    json(&super::openapi::document())
}

/// Counters and histograms for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operations", responses((status = 200)))]
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, kind)], app.metrics.render(&app.models)).into_response()
}

pub async fn nowhere(uri: Uri) -> ServeError {
    ServeError::NotFound(format!("page `{}`", crate::protocol::shown(uri.path())))
}

pub async fn wrong_method(method: Method) -> ServeError {
    ServeError::Method(crate::protocol::shown(method.as_str()))
}
