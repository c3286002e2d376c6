//! Requests to the model server, up to the rows that a model would be asked.

use std::sync::OnceLock;

use burn::tensor::Device;
use bytes::Bytes;
use sngp_pipeline::{Pipeline, Signature};
use sngp_serve::outputs::Wanted;
use sngp_serve::parse_infer_message;
use sngp_serve::protocol::{InferRequest, parse_infer};
use sngp_serve::rows::{Intake, Items};

use crate::folder::folders;

/// Rows of one request.
const MOST: usize = 1000;

/// A model folder of every kind, as far as the server's front knows it.
fn fronts() -> &'static [(Signature, Intake)] {
    static FRONTS: OnceLock<Vec<(Signature, Intake)>> = OnceLock::new();
    FRONTS.get_or_init(|| {
        let front = |folder: &crate::folder::Folder| {
            let place = tempfile::tempdir().expect("a folder to write to");
            folder.write(place.path());
            let pipeline = Pipeline::load(place.path(), &Device::flex()).expect("a model");
            let signature = pipeline.signature();
            let intake = Intake::new(&signature);
            (signature, intake)
        };
        folders().iter().map(front).collect()
    })
}

fn asked(request: &InferRequest) {
    for (signature, intake) in fronts() {
        let _ = Wanted::of(request, signature);
        if let Ok(rows) = intake.rows_of_tensors(&request.inputs, MOST) {
            assert!(!rows.is_empty() && rows.len() <= MOST);
        }
    }
}

/// JSON and binary tensors over HTTP. The first two bytes say where the JSON ends, all ones that
/// nothing says so.
pub fn infer_request(data: &[u8]) {
    let Some((length, body)) = data.split_first_chunk::<2>() else { return };
    let length = u16::from_le_bytes(*length);
    let length = (length != u16::MAX).then_some(usize::from(length));
    if let Ok(request) = parse_infer(&Bytes::copy_from_slice(body), length) {
        asked(&request);
    }
}

/// Messages over gRPC.
pub fn infer_message(data: &[u8]) {
    if let Ok(request) = parse_infer_message(data) {
        asked(&request);
    }
}

/// What people send to `/v1/predict`: JSON, or the file of an image.
pub fn predict_body(data: &[u8]) {
    for (_, intake) in fronts() {
        let _ = intake.row_of_file(data);
    }
    let Ok(items) = Items::parse(data) else { return };
    for (_, intake) in fronts() {
        if let Ok(rows) = intake.rows_of_items(&items, MOST) {
            assert!(rows.len() <= MOST);
        }
    }
}
