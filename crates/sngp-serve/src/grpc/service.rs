use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status};

use super::generated as proto;
use super::generated::model_metadata_response::TensorMetadata;
use super::message::{message_of_response, request_of_message};
use crate::error::{Result, ServeError};
use crate::model::VERSION;
use crate::outputs::{Wanted, input_datatype, output_datatype};
use crate::protocol::{Datatype, InferResponse};
use crate::server::{App, Arrived, EXTENSIONS, NAME, PLATFORM};

/// The service of the protocol.
pub struct Inference {
    pub app: Arc<App>,
}

type Answer<T> = std::result::Result<Response<T>, Status>;

impl From<ServeError> for Status {
    fn from(error: ServeError) -> Self {
        Self::new(error.grpc(), error.to_string())
    }
}

#[tonic::async_trait]
impl proto::grpc_inference_service_server::GrpcInferenceService for Inference {
    async fn server_live(
        &self,
        _: Request<proto::ServerLiveRequest>,
    ) -> Answer<proto::ServerLiveResponse> {
        Ok(Response::new(proto::ServerLiveResponse { live: true }))
    }

    async fn server_ready(
        &self,
        _: Request<proto::ServerReadyRequest>,
    ) -> Answer<proto::ServerReadyResponse> {
        let ready = !self.app.admission.is_closed();
        Ok(Response::new(proto::ServerReadyResponse { ready }))
    }

    async fn model_ready(
        &self,
        request: Request<proto::ModelReadyRequest>,
    ) -> Answer<proto::ModelReadyResponse> {
        let proto::ModelReadyRequest { name, version } = request.into_inner();
        self.app.models.get(&name, Some(&version))?;
        let ready = !self.app.admission.is_closed();
        Ok(Response::new(proto::ModelReadyResponse { ready }))
    }

    async fn server_metadata(
        &self,
        _: Request<proto::ServerMetadataRequest>,
    ) -> Answer<proto::ServerMetadataResponse> {
        Ok(Response::new(proto::ServerMetadataResponse {
            name: NAME.to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            extensions: EXTENSIONS.map(str::to_string).to_vec(),
        }))
    }

    async fn model_metadata(
        &self,
        request: Request<proto::ModelMetadataRequest>,
    ) -> Answer<proto::ModelMetadataResponse> {
        let proto::ModelMetadataRequest { name, version } = request.into_inner();
        let served = self.app.models.get(&name, Some(&version))?;
        let signature = &served.current().signature;
        let tensor = |field: &sngp_pipeline::Field, datatype: Datatype| TensorMetadata {
            name: field.name.clone(),
            datatype: datatype.name().to_string(),
            shape: field.shape.clone(),
        };
        Ok(Response::new(proto::ModelMetadataResponse {
            name: served.name.clone(),
            versions: vec![VERSION.to_string()],
            platform: PLATFORM.to_string(),
            inputs: signature.inputs.iter().map(|f| tensor(f, input_datatype(f))).collect(),
            outputs: signature.outputs.iter().map(|f| tensor(f, output_datatype(f))).collect(),
        }))
    }

    async fn model_infer(
        &self,
        request: Request<proto::ModelInferRequest>,
    ) -> Answer<proto::ModelInferResponse> {
        let arrived = Arrived::now();
        let limit = request.metadata().get("grpc-timeout");
        let limit = limit.and_then(|value| value.to_str().ok()).and_then(grpc_timeout);
        Ok(Response::new(self.infer(request.into_inner(), arrived, limit).await?))
    }
}

impl Inference {
    async fn infer(
        &self,
        message: proto::ModelInferRequest,
        arrived: Arrived,
        limit: Option<Duration>,
    ) -> Result<proto::ModelInferResponse> {
        let app = &self.app;
        let served = app.models.get(&message.model_name, Some(&message.model_version))?;
        let loaded = served.current();
        let (intake, most) = (loaded.clone(), app.settings.max_rows);
        let read = move || {
            let mut request = request_of_message(message)?;
            let wanted = Wanted::of(&request, &intake.signature)?;
            let inputs = std::mem::take(&mut request.inputs);
            Ok((intake.intake.rows_of_tensors(&inputs, most)?, wanted, request))
        };
        // Images are decoded here: nothing waits for that.
        let read: Result<_> = tokio::task::block_in_place(read);
        let (rows, wanted, request) = read?;
        let asked = [request.timeout, limit].into_iter().flatten().min();
        let deadline = arrived.deadline(app, asked);
        let answers = served.answer(&loaded, rows, wanted.detail(), deadline).await?;
        Ok(message_of_response(InferResponse {
            model: served.name.clone(),
            version: VERSION.to_string(),
            id: request.id,
            outputs: wanted.tensors(&answers)?,
        }))
    }
}

/// Reads a `grpc-timeout`: digits and a unit.
fn grpc_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u32 = digits.parse().ok().filter(|_| digits.len() <= 8)?;
    let unit = match unit {
        "H" => Duration::from_secs(3600),
        "M" => Duration::from_secs(60),
        "S" => Duration::from_secs(1),
        "m" => Duration::from_millis(1),
        "u" => Duration::from_micros(1),
        "n" => Duration::from_nanos(1),
        _ => return None,
    };
    Some(unit * number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_have_units() {
        assert_eq!(grpc_timeout("250m"), Some(Duration::from_millis(250)));
        assert_eq!(grpc_timeout("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
        for wrong in ["", "5", "m", "123456789S", "-1S", "5x", "1é"] {
            assert_eq!(grpc_timeout(wrong), None, "{wrong}");
        }
    }
}
