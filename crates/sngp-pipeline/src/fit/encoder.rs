//! Sentences through a pretrained encoder.

use std::path::Path;
use std::time::Instant;

use ndarray::{Array2, s};
use sngp::backbone::{Backbone, Bert, Pooler, Shipped, ShippedConfig};
use sngp::data::{Inputs, Labelled, Table};
use sngp::model::{Estimator, ShippedModel, fit, fit_output};
use sngp::nn::Head;
use sngp::text::{EncoderOptions, PretrainedEncoder, TextModel};
use sngp::train::{Decay, Schedule};
use sngp::{Error, Pass, Result};

use super::examples::Examples;
use super::labels::Learning;
use super::network::{
    Fit, Settings, calibrated, config_of_embeddings, fit_options, is_direct, normalized,
};
use super::options::Options;

/// Vectors that go through the last layer together.
const BATCH: usize = 2048;

/// Sentences with their encoder and its vectors of them, computed once.
pub(super) struct Embedded {
    pub encoder: PretrainedEncoder,
    pub texts: Vec<String>,
    pub vectors: Array2<f32>,
}

impl Embedded {
    pub fn read(folder: &Path, texts: Vec<String>, options: &Options<'_>) -> Result<Self> {
        let max_tokens = options.max_tokens.min(PretrainedEncoder::longest(folder)?);
        let settings =
            EncoderOptions { max_tokens, prompt: options.prompt.clone(), ..Default::default() };
        let encoder = PretrainedEncoder::read(folder, &settings, &options.device)?;
        let vectors = encoder.embed(&encoder.sentences(&texts)?, &options.device);
        Ok(Self { encoder, texts, vectors })
    }

    /// Fits an output layer to the vectors, and the encoder too where that is wanted.
    pub fn fit(
        &self,
        examples: &Examples,
        settings: &Settings,
        start: Option<&Head>,
        options: &Options<'_>,
    ) -> Result<Fit> {
        let mut estimator = self.estimator(examples, settings, options.features, options);
        estimator.head = start.cloned();
        let started = Instant::now();
        let (model, words) = match options.fine_tune {
            true => self.fine_tuned(estimator, &examples.learning, options)?,
            false => self.frozen(estimator, &examples.learning, options)?,
        };
        let seconds = started.elapsed().as_secs_f64();
        let (model, tokenizer) =
            TextModel::new(model, self.encoder.tokenizer.clone())?.into_parts();
        calibrated(Fit { model, tokenizer: Some(tokenizer), words, seconds }, examples)
    }

    /// The estimator of an output layer on the encoder's vectors.
    pub fn estimator(
        &self,
        examples: &Examples,
        settings: &Settings,
        features: usize,
        options: &Options<'_>,
    ) -> Estimator<Shipped> {
        let seen = normalized(&examples.sample());
        let mut config = config_of_embeddings(settings, options, seen.view());
        config.gaussian_process.features.count = features;
        Estimator::new(config, ShippedConfig::from(self.encoder.config.pooler.clone()))
            .with_pretrained(Shipped::from(self.encoder.network.pooler.clone()))
    }

    /// The output layer on the encoder's vectors as they are.
    fn on_vectors(
        &self,
        estimator: &Estimator<Shipped>,
        learning: &Learning,
        options: &Options<'_>,
    ) -> Result<(ShippedModel, String)> {
        let vectors = Shipped::inputs(Table::new(self.vectors.view())?);
        let data = Labelled::new(vectors, learning.train.clone())?;
        if is_direct(options, false) {
            let (model, found) = fit_output(estimator, &data, fit_options(options, learning))?;
            let iterations = found.iterations;
            let words = format!("frozen encoder, output layer solved in {iterations} iterations");
            return Ok((model, words));
        }
        let model = fit(estimator, &data, fit_options(options, learning))?;
        let epochs = options.epochs();
        Ok((model, format!("frozen encoder, layers on top trained for {epochs} epochs")))
    }

    fn frozen(
        &self,
        mut estimator: Estimator<Shipped>,
        learning: &Learning,
        options: &Options<'_>,
    ) -> Result<(ShippedModel, String)> {
        let training = &mut estimator.config.training;
        training.batch_size = 256;
        training.learning_rate = 1e-3;
        training.head_learning_rate = Some(5e-3);
        let (model, words) = self.on_vectors(&estimator, learning, options)?;
        let encoder = &self.encoder;
        let wrap = |top: Shipped| match top {
            Shipped::Pooler(pooler) => with_pooler(encoder, pooler),
            other => other,
        };
        Ok((model.behind(ShippedConfig::from(encoder.config.clone()), wrap)?, words))
    }

    fn fine_tuned(
        &self,
        mut top: Estimator<Shipped>,
        learning: &Learning,
        options: &Options<'_>,
    ) -> Result<(ShippedModel, String)> {
        let encoder = &self.encoder;
        let config = &mut top.config;
        config.training.batch_size = 32;
        config.training.learning_rate = 1e-4;
        config.training.head_learning_rate = Some(1e-3);
        config.training.weight_decay = 0.01;
        config.training.clip_norm = Some(1.0);
        config.training.schedule = Schedule { warm_up: 0.1, decay: Decay::Linear };
        let mut estimator =
            Estimator::new(top.config.clone(), ShippedConfig::from(encoder.config.clone()))
                .with_pretrained(Shipped::from(encoder.network.clone()));
        if is_direct(options, false) {
            // A random output layer would first spoil the encoder.
            let (first, _) = self.on_vectors(&top, learning, options)?;
            if let Some(network) = first.networks().next() {
                estimator = estimator.with_head(network.head.clone());
            }
        }
        let sentences = Shipped::inputs(encoder.sentences(&self.texts)?);
        let data = Labelled::new(sentences, learning.train.clone())?;
        let model = fit(&estimator, &data, fit_options(options, learning))?;
        Ok((model, format!("encoder and output layer, {} epochs", options.epochs())))
    }

    /// The hidden vectors of the sentences by a model whose encoder was left as it is: only what
    /// comes after it has to be computed.
    pub fn hidden(&self, model: &ShippedModel) -> Result<Array2<f32>> {
        let network = model.networks().next().map(|network| &network.backbone);
        let Some(Shipped::Bert(network)) = network else {
            return Err(Error::Unsupported("the model has no encoder".to_string()));
        };
        let vectors = Table::new(self.vectors.view())?;
        let rows: Vec<usize> = (0..self.texts.len()).collect();
        let mut hidden = Array2::zeros((rows.len(), self.vectors.ncols()));
        for (index, rows) in rows.chunks(BATCH).enumerate() {
            let batch = vectors.batch(rows, model.device());
            let part = network.pooler.forward(batch, &mut Pass::evaluate());
            let values: Vec<f32> = part
                .into_data()
                .try_to_vec()
                .map_err(|_| Error::Data("the hidden vectors cannot be read".to_string()))?;
            let start = index * BATCH;
            let mut place = hidden.slice_mut(s![start..start + rows.len(), ..]);
            place.iter_mut().zip(values).for_each(|(place, value)| *place = value);
        }
        Ok(hidden)
    }

    /// Vectors of evenly spread sentences.
    pub fn some_texts(&self, rows: &[usize]) -> Vec<String> {
        rows.iter().map(|&row| self.texts[row].clone()).collect()
    }
}

/// The whole network around a trained top layer.
fn with_pooler(encoder: &PretrainedEncoder, pooler: Pooler) -> Shipped {
    Shipped::from(Bert { encoder: encoder.network.encoder.clone(), pooler })
}
