//! Networks that others trained.

use std::path::Path;

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use ndarray::{Array2, Axis};
use sngp::backbone::{Backbone, IdentityConfig, Shipped, ShippedBatch, ShippedConfig};
use sngp::data::{Labelled, Table};
use sngp::method::Output;
use sngp::model::{Estimator, FitOptions, Model, ShippedModel, fit_output};
use sngp::nn::Head;
use sngp::weights::PublishedWeights;
use sngp::{Error, Network, Pass, Result};

use super::experiment::{PretrainedConfig, Trained};

/// Images whose hidden vectors are computed together.
const BATCH: usize = 512;

/// A published network.
pub(super) struct Pretrained {
    pub backbone: Shipped,
    pub head: Linear,
    pub trained: Trained,
}

impl Pretrained {
    /// Reads its weights; all of them have to fit.
    pub fn read(
        config: &PretrainedConfig,
        folder: &Path,
        backbone: &ShippedConfig,
        classes: usize,
        device: &Device,
    ) -> Result<Self> {
        let mut weights = PublishedWeights::read(folder.join(&config.file), &config.map())?;
        let head = LinearConfig::new(Shipped::width(backbone), classes).init(device);
        let filled = Self {
            backbone: weights.fill("backbone", Shipped::build(backbone, device)?)?,
            head: weights.fill("head", head)?,
            trained: config.train,
        };
        weights.finish()?;
        Ok(filled)
    }

    /// A model on the network as it is: with its own dense output, or with a Gaussian process
    /// fitted to its hidden vectors.
    pub fn fit(
        &self,
        estimator: &Estimator<Shipped>,
        data: &Labelled<ShippedBatch>,
        options: FitOptions<'_, Shipped>,
    ) -> Result<ShippedModel> {
        let recipe = estimator.config.method.recipe();
        let (config, backbone) = (estimator.config.clone(), estimator.backbone.clone());
        match (recipe.output, recipe.spectral) {
            (Output::Dense, false) => {
                let network = Network {
                    backbone: self.backbone.clone(),
                    head: Head::Dense(self.head.clone()),
                    spectral: None,
                    log_noise: None,
                };
                let labels = options.labels.unwrap_or_default();
                let device = &options.device;
                Model::from_network(config, backbone, network, labels, &*data.inputs, device)
            }
            (Output::GaussianProcess, false) => {
                let vectors = Table::new(self.vectors(data, &options.device)?.view())?;
                let vectors = Labelled::new(Shipped::inputs(vectors), (*data.targets).clone())?;
                let width = Shipped::width(&backbone);
                let direct = FitOptions {
                    labels: options.labels,
                    interrupter: options.interrupter,
                    observe: options.observe,
                    ..FitOptions::new(&options.device)
                };
                let estimator = Estimator::new(config, IdentityConfig { width }.into());
                let (model, _) = fit_output(&estimator, &vectors, direct)?;
                model.behind(backbone, |_: Shipped| self.backbone.clone())
            }
            _ => Err(Error::Unsupported(format!(
                "{} trains the network, and this experiment leaves it as it was published; set \
                 train = \"everything\", or compare deterministic and dnn_gp",
                config.method
            ))),
        }
    }

    /// The hidden vectors of all images.
    fn vectors(&self, data: &Labelled<ShippedBatch>, device: &Device) -> Result<Array2<f32>> {
        let rows: Vec<usize> = (0..data.rows()).collect();
        let mut all = Array2::zeros((0, 0));
        for rows in rows.chunks(BATCH) {
            let batch = data.inputs.batch(rows, device);
            let hidden: Tensor<2> = self.backbone.forward(batch, &mut Pass::evaluate());
            let [count, width] = hidden.dims();
            let values = hidden.into_data().iter::<f32>().collect();
            let block = Array2::from_shape_vec((count, width), values);
            let block = block.map_err(|error| Error::Data(error.to_string()))?;
            match all.is_empty() {
                true => all = block,
                false => all
                    .append(Axis(0), block.view())
                    .map_err(|error| Error::Data(error.to_string()))?,
            }
        }
        Ok(all)
    }
}
