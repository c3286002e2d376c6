//! Sizes that a model folder's configuration names, held against the tensors that are there.
//!
//! A network is built from its configuration before its weights are read into it. A folder that
//! names a million layers would take all memory before anybody notices that it has none of them.

use serde::Serialize;
use serde_json::Value;

use super::config::ModelConfig;
use super::tensors::Extent;
use crate::method::Output;
use crate::{Error, Result};

/// Sizes up to this are harmless, whatever the tensors are like.
const HARMLESS: u64 = 1024;
/// More passes than this nobody waits for.
const MOST_PASSES: usize = 10_000;

/// Refuses a size that is larger than anything among the tensors.
pub(super) fn check(
    backbone: &impl Serialize,
    outputs: usize,
    model: &ModelConfig,
    extent: Extent,
) -> Result<()> {
    let limit = HARMLESS.max(extent.axis.max(extent.tensors) as u64);
    let backbone = serde_json::to_value(backbone).map_err(|e| Error::Data(e.to_string()))?;
    let features = &model.gaussian_process.features;
    let sizes = [outputs, features.count, features.projection.unwrap_or(0)];
    let largest = largest(&backbone).max(sizes.into_iter().max().unwrap_or(0) as u64);
    if largest > limit {
        return Err(Error::Data(format!(
            "its configuration names a size of {largest}, and none of its tensors is as large"
        )));
    }
    let recipe = model.method.recipe();
    if recipe.passes > MOST_PASSES || recipe.members > extent.tensors.max(1) {
        let (passes, members) = (recipe.passes, recipe.members);
        let message = format!("{passes} passes through {members} networks are beyond its tensors");
        return Err(Error::Data(message));
    }
    Ok(())
}

/// Refuses what is drawn before it is replaced by tensors: random features and centroids.
pub(super) fn check_drawn(
    width: usize,
    outputs: usize,
    model: &ModelConfig,
    extent: Extent,
) -> Result<()> {
    let features = &model.gaussian_process.features;
    let inner = features.projection.unwrap_or(width);
    let products: Vec<(usize, usize)> = match model.method.recipe().output {
        Output::GaussianProcess => {
            let projection = features.projection.map(|projection| (width, projection));
            std::iter::once((features.count, inner)).chain(projection).collect()
        }
        Output::RbfCentroids => {
            vec![(width, outputs.saturating_mul(model.rbf_centroids.embedding))]
        }
        Output::Dense | Output::ExactGaussianProcess => Vec::new(),
    };
    match products.iter().find(|(a, b)| a.saturating_mul(*b) > extent.numbers) {
        None => Ok(()),
        Some((rows, columns)) => Err(Error::Data(format!(
            "its configuration names a matrix of {rows} x {columns}, more than all its tensors hold"
        ))),
    }
}

/// The largest whole number anywhere in a configuration.
fn largest(value: &Value) -> u64 {
    match value {
        Value::Number(number) => number.as_u64().unwrap_or(0),
        Value::Array(values) => values.iter().map(largest).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(largest).max().unwrap_or(0),
        _ => 0,
    }
}
