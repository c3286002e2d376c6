use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method};

use super::leftover::Leftover;
use crate::ops::metrics::{Held, ProtocolLabels, RequestLabels};
use crate::server::App;

const REQUEST_ID: &str = "x-request-id";
/// Pages that show nothing of a model, and that probes ask for without a key.
const OPEN: [&str; 6] =
    ["/", "/docs", "/openapi.json", "/v2/health/live", "/v2/health/ready", "/favicon.ico"];

/// What is done with every request: its id, the key, what is counted and logged.
pub async fn wrap(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let request = request.map(Leftover::of);
    let id = request_id(&app, request.headers());
    let method = request.method().clone();
    let path = request.uri().path().to_string();
    let allowed = match OPEN.contains(&path.as_str()) {
        true => Ok(()),
        false => app.key.check(request.headers()),
    };
    let held = Held::new(&app.metrics.in_flight);
    let mut response = match allowed {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    drop(held);
    let (status, seconds) = (response.status().as_u16(), started.elapsed().as_secs_f64());
    let route = route(&method, &path);
    let labels = RequestLabels { protocol: "http", route, code: status };
    app.metrics.requests.get_or_create(&labels).inc();
    app.metrics.seconds.get_or_create(&ProtocolLabels { protocol: "http" }).observe(seconds);
    app.log.request([
        ("id", id.to_str().unwrap_or_default().into()),
        ("protocol", "http".into()),
        ("method", method.as_str().into()),
        ("path", path.into()),
        ("status", status.into()),
        ("seconds", seconds.into()),
    ]);
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// The client's own id where it is short and plain, otherwise one of ours.
fn request_id(app: &App, headers: &HeaderMap) -> HeaderValue {
    let plain = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        (1..=128).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    };
    let own = || HeaderValue::from_str(&app.next_id()).unwrap_or(HeaderValue::from_static("-"));
    headers.get(REQUEST_ID).filter(plain).cloned().unwrap_or_else(own)
}

/// The name of a page in metrics: a fixed few, whatever is asked for.
fn route(method: &Method, path: &str) -> &'static str {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (method, &parts[..]) {
        (_, [""] | ["docs"] | ["openapi.json"]) => "page",
        (_, ["metrics"]) => "metrics",
        (_, ["v2", "health", ..]) => "health",
        (_, ["v2", "models", .., "infer"]) => "infer",
        (_, ["v2", "models", .., "ready"]) => "health",
        (_, ["v1", "predict"] | ["v1", "models", _, "predict"]) => "predict",
        (_, ["v2", ..] | ["v1", ..]) => "metadata",
        _ => "other",
    }
}
