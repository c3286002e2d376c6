//! What is trained on what.

use std::path::Path;

use burn::tensor::Device;
use sngp::Result;
use sngp::backbone::Backbone;
use sngp::data::Labelled;
use sngp::method::Method;
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};

use super::networks::RunOptions;
use super::search::BoundOf;
use super::tuning::TuningConfig;

/// The batches of a study's networks.
pub type BatchOf<S> = <<S as Study>::Backbone as Backbone>::Batch;

/// Data, networks and options of an experiment.
pub trait Study {
    /// The hidden mapping of its networks.
    type Backbone: Backbone;

    /// Which norm bound its networks have.
    const BOUND: BoundOf;

    /// The configuration of a method.
    fn model_for(&self, method: &Method) -> Result<ModelConfig>;

    /// What is chosen on held-out data.
    fn tuning(&self) -> &TuningConfig;

    /// What networks are trained on.
    fn train(&self) -> &Labelled<BatchOf<Self>>;

    /// What is held out.
    fn validation(&self) -> &Labelled<BatchOf<Self>>;

    /// What ridge and mean-field factor are chosen on.
    fn chosen_on(&self) -> &Labelled<BatchOf<Self>> {
        self.validation()
    }

    /// The names of the classes.
    fn labels(&self) -> &[String];

    /// What a network starts from.
    fn estimator(&self, config: ModelConfig) -> Estimator<Self::Backbone>;

    /// Everything a kept network depends on that the estimator does not know.
    fn depends_on(&self) -> String;

    /// Trains a network.
    fn fit(
        &self,
        estimator: Estimator<Self::Backbone>,
        fit: FitOptions<'_, Self::Backbone>,
        _options: &RunOptions<'_>,
    ) -> Result<Model<Self::Backbone>> {
        estimator.fit(self.train(), fit)
    }

    /// Writes a trained network as a folder of its own.
    fn save(&self, model: Model<Self::Backbone>, folder: &Path) -> Result<()> {
        model.save(folder)
    }

    /// Reads it.
    fn load(&self, folder: &Path, device: &Device) -> Result<Model<Self::Backbone>> {
        Model::load(folder, device)
    }
}
