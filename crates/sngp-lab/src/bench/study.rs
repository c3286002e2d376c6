//! What is trained on what.

use std::path::Path;

use burn::tensor::Device;
use sngp::Result;
use sngp::backbone::{Shipped, ShippedBatch};
use sngp::data::Labelled;
use sngp::method::Method;
use sngp::model::{self, Estimator, FitOptions, ModelConfig, ShippedModel};

use super::networks::RunOptions;
use super::search::BoundOf;
use super::tuning::TuningConfig;

/// Data, networks and options of an experiment.
pub trait Study {
    /// Which norm bound its networks have.
    fn bound(&self) -> BoundOf;

    /// The configuration of a method.
    fn model_for(&self, method: &Method) -> Result<ModelConfig>;

    /// What is chosen on held-out data.
    fn tuning(&self) -> &TuningConfig;

    /// What networks are trained on.
    fn train(&self) -> &Labelled<ShippedBatch>;

    /// What is held out.
    fn validation(&self) -> &Labelled<ShippedBatch>;

    /// What ridge and mean-field factor are chosen on.
    fn chosen_on(&self) -> &Labelled<ShippedBatch> {
        self.validation()
    }

    /// The names of the classes.
    fn labels(&self) -> &[String];

    /// What a network starts from.
    fn estimator(&self, config: ModelConfig) -> Estimator<Shipped>;

    /// Everything a kept network depends on that the estimator does not know.
    fn depends_on(&self) -> String;

    /// Trains a network.
    fn fit(
        &self,
        estimator: Estimator<Shipped>,
        fit: FitOptions<'_, Shipped>,
        _options: &RunOptions<'_>,
    ) -> Result<ShippedModel> {
        model::fit(&estimator, self.train(), fit)
    }

    /// Writes a trained network as a folder of its own.
    fn save(&self, model: ShippedModel, folder: &Path) -> Result<()> {
        model.save(folder)
    }

    /// Reads it.
    fn load(&self, folder: &Path, device: &Device) -> Result<ShippedModel> {
        model::load(folder, device)
    }
}
