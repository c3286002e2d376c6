//! Fitting models with the backbones that ship with the library.
//!
//! The training of a network is a lot of code, made anew in every crate that calls it for a
//! backbone. These functions are that code for [`Shipped`], made once, here.

use std::ops::ControlFlow;
use std::path::Path;

use burn::tensor::Device;

use super::estimator::{Estimator, FitOptions};
use super::fitted::Model;
use super::output::PathStep;
use crate::Result;
use crate::backbone::{Shipped, ShippedBatch};
use crate::convex::Convergence;
use crate::data::{Inputs, Labelled};

/// A model with any of the shipped backbones.
pub type ShippedModel = Model<Shipped>;

/// [`Estimator::fit`] of any shipped backbone.
///
/// ```
/// use burn::tensor::Device;
/// use ndarray::array;
/// use sngp::backbone::{ResFfnConfig, Shipped};
/// use sngp::data::{Labelled, Table, Targets};
/// use sngp::model::{Estimator, FitOptions, ModelConfig, fit};
///
/// let vectors = Table::new(array![[0.0, 0.0], [1.0, 1.0]].view())?;
/// let data = Labelled::new(Shipped::inputs(vectors), Targets::classes(vec![0, 1], 2)?)?;
/// let mut config = ModelConfig::default();
/// config.training.epochs = 2;
/// let backbone = ResFfnConfig { depth: 2, width: 8, ..Default::default() };
/// let estimator = Estimator::new(config, backbone.into());
/// let model = fit(&estimator, &data, FitOptions::new(&Device::flex()))?;
/// assert_eq!(model.predict(&*data.inputs)?.probabilities()?.dim(), (2, 2));
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn fit(
    estimator: &Estimator<Shipped>,
    data: &Labelled<ShippedBatch>,
    options: FitOptions<'_, Shipped>,
) -> Result<ShippedModel> {
    estimator.fit(data, options)
}

/// [`Estimator::fit_output`] of any shipped backbone.
pub fn fit_output(
    estimator: &Estimator<Shipped>,
    data: &Labelled<ShippedBatch>,
    options: FitOptions<'_, Shipped>,
) -> Result<(ShippedModel, Convergence)> {
    estimator.fit_output(data, options)
}

/// [`Estimator::output_path`] of any shipped backbone.
pub fn output_path(
    estimator: &Estimator<Shipped>,
    data: &Labelled<ShippedBatch>,
    held_out: &dyn Inputs<ShippedBatch>,
    strengths: &[f64],
    options: FitOptions<'_, Shipped>,
    seen: &mut dyn FnMut(PathStep) -> ControlFlow<()>,
) -> Result<()> {
    estimator.output_path(data, held_out, strengths, options, seen)
}

/// [`Estimator::given_output`] of any shipped backbone.
pub fn given_output(
    estimator: &Estimator<Shipped>,
    weights: Vec<f32>,
    data: &Labelled<ShippedBatch>,
    options: FitOptions<'_, Shipped>,
) -> Result<ShippedModel> {
    estimator.given_output(weights, data, options)
}

/// [`Model::load`] of any shipped backbone.
pub fn load(folder: &Path, device: &Device) -> Result<ShippedModel> {
    Model::load(folder, device)
}
