//! What the server and its models are.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::json as object;

use super::openapi::Fault;
use super::respond::json;
use crate::error::{Result, ServeError};
use crate::model::{Served, VERSION};
use crate::outputs::{input_datatype, output_datatype};
use crate::server::{App, EXTENSIONS, NAME, PLATFORM};

type Named = Path<HashMap<String, String>>;

fn served<'a>(app: &'a App, path: &Named) -> Result<&'a Arc<Served>> {
    let name = path.get("model").map_or("", String::as_str);
    app.models.get(name, path.get("version").map(String::as_str))
}

/// What the server is.
#[utoipa::path(get, path = "/v2", tag = "open inference protocol", responses((status = 200)))]
pub async fn server() -> Response {
    json(&object!({
        "name": NAME, "version": env!("CARGO_PKG_VERSION"), "extensions": EXTENSIONS,
    }))
}

/// Whether the process runs.
#[utoipa::path(get, path = "/v2/health/live", tag = "open inference protocol", responses((status = 200)))]
pub async fn live() -> Response {
    json(&object!({ "live": true }))
}

/// Whether it takes requests.
#[utoipa::path(get, path = "/v2/health/ready", tag = "open inference protocol", responses((status = 200), (status = 503, body = Fault)))]
pub async fn ready(State(app): State<Arc<App>>) -> Result<Response> {
    if app.admission.is_closed() {
        return Err(ServeError::Closing);
    }
    Ok(json(&object!({ "ready": true })))
}

/// Whether a model takes requests.
#[utoipa::path(get, path = "/v2/models/{model}/ready", tag = "open inference protocol", responses((status = 200), (status = 404, body = Fault)), params(("model" = String, Path, description = "The name of a model")))]
pub async fn model_ready(State(app): State<Arc<App>>, path: Named) -> Result<Response> {
    let served = served(&app, &path)?;
    if app.admission.is_closed() {
        return Err(ServeError::Closing);
    }
    Ok(json(&object!({ "name": served.name, "ready": true })))
}

/// What a model takes and gives.
#[utoipa::path(get, path = "/v2/models/{model}", tag = "open inference protocol", responses((status = 200), (status = 404, body = Fault)), params(("model" = String, Path, description = "The name of a model")))]
pub async fn model(State(app): State<Arc<App>>, path: Named) -> Result<Response> {
    let served = served(&app, &path)?;
    let signature = &served.current().signature;
    let inputs = signature.inputs.iter().map(|field| {
        object!({ "name": field.name, "datatype": input_datatype(field).name(), "shape": field.shape })
    });
    let outputs = signature.outputs.iter().map(|field| {
        object!({ "name": field.name, "datatype": output_datatype(field).name(), "shape": field.shape })
    });
    Ok(json(&object!({
        "name": served.name,
        "versions": [VERSION],
        "platform": PLATFORM,
        "inputs": inputs.collect::<Vec<_>>(),
        "outputs": outputs.collect::<Vec<_>>(),
    })))
}

pub async fn index(State(app): State<Arc<App>>) -> Response {
    let models = app.models.all().iter().map(|served| {
        object!({ "name": served.name, "version": VERSION, "state": "READY", "reason": "" })
    });
    json(&models.collect::<Vec<_>>())
}

pub async fn no_loading() -> ServeError {
    let message = "models are given when the server starts; replace the folder and send SIGHUP";
    ServeError::Unsupported(message.to_string())
}

/// Every model with its whole signature: what a form is made from.
#[utoipa::path(get, path = "/v1/models", tag = "for people", responses((status = 200)))]
pub async fn models(State(app): State<Arc<App>>) -> Response {
    let models = app.models.all().iter().map(|served| {
        let loaded = served.current();
        object!({
            "name": served.name,
            "about": loaded.model.describe(),
            "signature": loaded.signature,
            "threshold": loaded.monitor.threshold(),
            "reference": loaded.monitor.reference(),
        })
    });
    json(&models.collect::<Vec<_>>())
}

/// The last answers of a model, and its drift.
#[utoipa::path(get, path = "/v1/models/{model}/traffic", tag = "for people", responses((status = 200), (status = 404, body = Fault)), params(("model" = String, Path, description = "The name of a model")))]
pub async fn traffic(State(app): State<Arc<App>>, path: Named) -> Result<Response> {
    const SHOWN: usize = 200;
    let served = served(&app, &path)?;
    let traffic = served.current().monitor.traffic(SHOWN);
    Ok(json(&object!({ "traffic": traffic, "waiting": served.queue.waiting() })))
}
