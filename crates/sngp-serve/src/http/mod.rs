//! The server over HTTP.

mod body;
mod describe;
mod infer;
mod leftover;
pub mod openapi;
mod pages;
mod predict;
mod respond;
mod wrap;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::server::App;

/// Every page.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/v2", get(describe::server))
        .route("/v2/health/live", get(describe::live))
        .route("/v2/health/ready", get(describe::ready))
        .route("/v2/models/{model}", get(describe::model))
        .route("/v2/models/{model}/ready", get(describe::model_ready))
        .route("/v2/models/{model}/infer", post(infer::infer))
        .route("/v2/models/{model}/versions/{version}", get(describe::model))
        .route("/v2/models/{model}/versions/{version}/ready", get(describe::model_ready))
        .route("/v2/models/{model}/versions/{version}/infer", post(infer::infer))
        .route("/v2/repository/index", post(describe::index))
        .route("/v2/repository/models/{model}/load", post(describe::no_loading))
        .route("/v2/repository/models/{model}/unload", post(describe::no_loading))
        .route("/v1/predict", post(predict::predict))
        .route("/v1/models", get(describe::models))
        .route("/v1/models/{model}/predict", post(predict::predict_by))
        .route("/v1/models/{model}/traffic", get(describe::traffic))
        .route("/metrics", get(pages::metrics))
        .route("/openapi.json", get(pages::openapi))
        .route("/docs", get(pages::docs))
        .route("/", get(pages::home))
        .fallback(pages::nowhere)
        .method_not_allowed_fallback(pages::wrong_method)
        .layer(axum::middleware::from_fn_with_state(app.clone(), wrap::wrap))
        .with_state(app)
}

/// `/v2/` is `/v2`: clients write both.
pub fn without_slash(uri: &mut http::Uri) {
    let path = uri.path();
    if path.len() < 2 || !path.ends_with('/') {
        return;
    }
    let short = path.trim_end_matches('/');
    let short = if short.is_empty() { "/" } else { short };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    if let Ok(parsed) = format!("{short}{query}").parse() {
        *uri = parsed;
    }
}
