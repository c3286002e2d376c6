//! The server over gRPC.

mod message;
mod service;
mod wrap;

use std::io;
use std::sync::Arc;

use axum::Router;
use tonic::codec::CompressionEncoding::{Deflate, Gzip};
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::server::App;
use generated::grpc_inference_service_server::GrpcInferenceServiceServer;

pub use message::parse_infer_message;

/// The messages and the service, as the protocol defines them.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
mod generated {
    tonic::include_proto!("inference");

    /// What reflection tells about them.
    pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/inference.bin"));
}

const SERVICE: &str = "inference.GRPCInferenceService";

/// What the standard health service says.
pub struct Health(HealthReporter);

impl Health {
    /// Says that no more requests are taken.
    pub async fn close(&self) {
        self.0.set_service_status("", ServingStatus::NotServing).await;
        self.0.set_service_status(SERVICE, ServingStatus::NotServing).await;
    }
}

/// Every method, with health and reflection.
pub async fn router(app: Arc<App>) -> io::Result<(Health, Router)> {
    let most = app.settings.max_body;
    let inference = GrpcInferenceServiceServer::new(service::Inference { app: app.clone() })
        .max_decoding_message_size(most)
        .accept_compressed(Gzip)
        .accept_compressed(Deflate)
        .send_compressed(Gzip)
        .send_compressed(Deflate);
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_service_status("", ServingStatus::Serving).await;
    reporter.set_service_status(SERVICE, ServingStatus::Serving).await;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(generated::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    // Clients ask by either name.
    let (new, old) = (reflection().build_v1(), reflection().build_v1alpha());
    let routes = Routes::new(inference)
        .add_service(health)
        .add_service(new.map_err(io::Error::other)?)
        .add_service(old.map_err(io::Error::other)?);
    let router = routes.prepare().into_axum_router();
    let layer = axum::middleware::from_fn_with_state(app, wrap::wrap);
    Ok((Health(reporter), router.layer(layer)))
}
