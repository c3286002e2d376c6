//! The Laplace posterior.

use anyhow::Result;
use burn::tensor::Device;
use ndarray::Array2;
use sngp::posterior::{Curvature, FeatureMapHash, Precision};

use super::Work;
use crate::data::normal;

const FEATURES: usize = 1024;

/// A batch of features and an empty precision for them.
fn start(rows: usize) -> Result<(Precision, Array2<f32>, Array2<f64>)> {
    let values = normal([rows, FEATURES], &Device::flex()).into_data().try_to_vec::<f32>();
    let values = values.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let features = Array2::from_shape_vec((rows, FEATURES), values)?;
    let precision = Precision::new(FEATURES, 1, Curvature::Gaussian, FeatureMapHash([0; 32]));
    Ok((precision, features, Array2::zeros((rows, 1))))
}

/// Adds 256 rows to the precision.
pub fn update() -> Result<Work> {
    let (mut precision, features, logits) = start(256)?;
    Ok(Box::new(move || Ok(precision.add(features.view(), logits.view())?)))
}

/// Cholesky decomposition of a precision and the factor that variances are read from.
pub fn finish() -> Result<Work> {
    let (mut precision, features, logits) = start(2048)?;
    precision.add(features.view(), logits.view())?;
    Ok(Box::new(move || {
        precision.finish(1.0)?;
        Ok(())
    }))
}
