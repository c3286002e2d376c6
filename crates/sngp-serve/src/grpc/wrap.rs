use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tonic::Status;

use super::SERVICE;
use crate::ops::metrics::{Held, ProtocolLabels, RequestLabels};
use crate::server::App;

/// What is done with every call: the key, a place before anything is decoded, what is counted.
pub async fn wrap(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let path = request.uri().path().to_string();
    let own = path.strip_prefix('/').and_then(|path| path.strip_prefix(SERVICE));
    let open =
        matches!(own, Some("/ServerLive" | "/ServerReady")) || path.starts_with("/grpc.health.");
    let infer = own == Some("/ModelInfer");
    let id = request.headers().get("x-request-id").and_then(|value| value.to_str().ok());
    let id = id.map_or_else(|| app.next_id(), str::to_string);
    let allowed = if open { Ok(()) } else { app.key.check(request.headers()) };
    let held = Held::new(&app.metrics.in_flight);
    let place = match (allowed, infer) {
        (Err(error), _) => Err(error),
        (Ok(()), true) => app.admission.enter().map(Some),
        (Ok(()), false) => Ok(None),
    };
    let response = match place {
        Ok(_place) => next.run(request).await,
        Err(error) => Status::from(error).into_http(),
    };
    drop(held);
    let code = response.headers().get("grpc-status").and_then(|value| value.to_str().ok());
    let code: u16 = code.and_then(|code| code.parse().ok()).unwrap_or(0);
    let seconds = started.elapsed().as_secs_f64();
    let route = match own {
        Some("/ModelInfer") => "infer",
        Some("/ModelMetadata" | "/ServerMetadata") => "metadata",
        _ if open => "health",
        _ => "other",
    };
    let labels = RequestLabels { protocol: "grpc", route, code };
    app.metrics.requests.get_or_create(&labels).inc();
    app.metrics.seconds.get_or_create(&ProtocolLabels { protocol: "grpc" }).observe(seconds);
    app.log.request([
        ("id", id.into()),
        ("protocol", "grpc".into()),
        ("method", "POST".into()),
        ("path", path.into()),
        ("status", code.into()),
        ("seconds", seconds.into()),
    ]);
    response
}
