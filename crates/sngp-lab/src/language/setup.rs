//! Data and encoder of an experiment, ready for its networks.

use std::path::Path;

use burn::module::Module;
use burn::tensor::Device;
use sngp::backbone::{Bert, Shipped, ShippedBatch, ShippedConfig};
use sngp::data::Labelled;
use sngp::method::Method;
use sngp::model::{self, Estimator, FitOptions, ModelConfig, ShippedModel};
use sngp::nn::Head;
use sngp::text::{EncoderOptions, PretrainedEncoder, TextModel};
use sngp::{Error, Result};

use super::embeddings::EmbeddingCache;
use super::experiment::{TextExperiment, Trained};
use super::task::{Task, TextTask};
use crate::bench::{BoundOf, RunOptions, Study, TuningConfig};

/// What the networks of an experiment start from and learn.
pub struct Setup {
    /// The experiment.
    pub experiment: TextExperiment,
    /// The backbone's configuration.
    pub backbone: ShippedConfig,
    /// The backbone they start from.
    pub pretrained: Shipped,
    /// What they learn, as sentences.
    pub sentences: TextTask,
    /// The same as their inputs.
    pub task: Task<ShippedBatch>,
    /// Vectors of the training sentences, where the output layer is trained on them first.
    vectors: Option<Labelled<ShippedBatch>>,
    /// The encoder the backbone comes from.
    encoder: PretrainedEncoder,
}

/// Reads sentences and encoder.
fn read(
    experiment: &TextExperiment,
    folder: &Path,
    device: &Device,
) -> Result<(TextTask, PretrainedEncoder)> {
    let settings = &experiment.encoder;
    let task = TextTask::read(&experiment.data, folder)?;
    let encoder_folder = folder.join(&settings.folder);
    let frozen = settings.train == Trained::Nothing;
    let options = EncoderOptions {
        pooling: Some(settings.pooling),
        prompt: None,
        max_tokens: settings.max_tokens,
        // What is not trained is not sampled either: its vectors are computed once.
        dropout: if frozen { Some(0.0) } else { settings.dropout },
        pooled_dropout: settings.dropout.filter(|_| frozen).unwrap_or(0.0),
    };
    let encoder = PretrainedEncoder::read(encoder_folder, &options, device)?;
    Ok((task, encoder))
}

impl Setup {
    /// Reads an experiment: its encoder is trained, or its vectors are computed once and kept in a
    /// folder.
    pub fn read(
        experiment: TextExperiment,
        folder: &Path,
        cache: &Path,
        device: &Device,
    ) -> Result<Self> {
        match experiment.encoder.train {
            Trained::Nothing => Self::frozen(experiment, folder, cache, device),
            _ => Self::fine_tuning(experiment, folder, cache, device),
        }
    }

    fn fine_tuning(
        experiment: TextExperiment,
        folder: &Path,
        cache: &Path,
        device: &Device,
    ) -> Result<Self> {
        let (task, encoder) = read(&experiment, folder, device)?;
        let inputs = Task::new(&task, |texts| Ok(Shipped::inputs(encoder.sentences(texts)?)))?;
        let vectors = match &experiment.head_first {
            None => None,
            Some(_) => {
                let cache = EmbeddingCache { folder: cache.to_path_buf() };
                let vectors = cache.table(&encoder, &task.train.texts, device)?;
                let targets = (*inputs.train.targets).clone();
                Some(Labelled::new(Shipped::inputs(vectors), targets)?)
            }
        };
        let mut pretrained = encoder.network.clone();
        if experiment.encoder.train == Trained::Layers {
            pretrained.encoder.embeddings = pretrained.encoder.embeddings.no_grad();
        }
        Ok(Self {
            task: inputs,
            sentences: task,
            vectors,
            backbone: encoder.config.clone().into(),
            pretrained: pretrained.into(),
            encoder,
            experiment,
        })
    }

    fn frozen(
        experiment: TextExperiment,
        folder: &Path,
        cache: &Path,
        device: &Device,
    ) -> Result<Self> {
        let (task, encoder) = read(&experiment, folder, device)?;
        let cache = EmbeddingCache { folder: cache.to_path_buf() };
        let vectors = |texts: &[String]| Ok(Shipped::inputs(cache.table(&encoder, texts, device)?));
        Ok(Self {
            task: Task::new(&task, vectors)?,
            sentences: task,
            vectors: None,
            backbone: encoder.config.pooler.clone().into(),
            pretrained: encoder.network.pooler.clone().into(),
            encoder,
            experiment,
        })
    }

    /// The output layer that networks of a configuration start from, where it is trained first.
    fn head(&self, config: &ModelConfig, options: &RunOptions<'_>) -> Result<Option<Head>> {
        let (Some(vectors), Some(training)) = (&self.vectors, &self.experiment.head_first) else {
            return Ok(None);
        };
        let config = &ModelConfig { training: training.clone(), ..config.clone() };
        let pooler = self.encoder.network.pooler.clone().no_grad();
        let estimator = Estimator::new(config.clone(), self.encoder.config.pooler.clone().into())
            .with_pretrained(Shipped::from(pooler));
        let name = format!("{} seed {}, output layer first", config.method, config.seed);
        let observe = |_| (options.observe)(name.clone());
        let fit = FitOptions {
            interrupter: options.interrupter.clone(),
            observe: &observe,
            ..FitOptions::new(options.device)
        };
        let model = model::fit(&estimator, vectors, fit)?;
        Ok(model.networks().next().map(|network| network.head.clone()))
    }

    /// A fitted model as one that takes text.
    pub fn export(&self, model: ShippedModel) -> Result<TextModel> {
        let encoder = &self.encoder;
        // A pooler that was trained on vectors goes back behind the encoder they came from.
        let whole = |own: Shipped| match own {
            Shipped::Pooler(pooler) => {
                Shipped::from(Bert { encoder: encoder.network.encoder.clone(), pooler })
            }
            other => other,
        };
        let model = model.behind(ShippedConfig::from(encoder.config.clone()), whole)?;
        TextModel::new(model, encoder.tokenizer.clone())
    }
}

impl Study for Setup {
    fn bound(&self) -> BoundOf {
        BoundOf::Dense
    }

    fn model_for(&self, method: &Method) -> Result<ModelConfig> {
        self.experiment.model_for(method)
    }

    fn tuning(&self) -> &TuningConfig {
        &self.experiment.tuning
    }

    fn train(&self) -> &Labelled<ShippedBatch> {
        &self.task.train
    }

    fn validation(&self) -> &Labelled<ShippedBatch> {
        &self.task.validation
    }

    fn labels(&self) -> &[String] {
        &self.task.labels
    }

    fn estimator(&self, config: ModelConfig) -> Estimator<Shipped> {
        Estimator::new(config, self.backbone.clone()).with_pretrained(self.pretrained.clone())
    }

    fn depends_on(&self) -> String {
        format!("{:?}", self.experiment.head_first)
    }

    fn fit(
        &self,
        mut estimator: Estimator<Shipped>,
        fit: FitOptions<'_, Shipped>,
        options: &RunOptions<'_>,
    ) -> Result<ShippedModel> {
        estimator.head = self.head(&estimator.config, options)?;
        model::fit(&estimator, &self.task.train, fit)
    }

    /// As a model that takes text.
    fn save(&self, model: ShippedModel, folder: &Path) -> Result<()> {
        self.export(model)?.save(folder)
    }

    fn load(&self, folder: &Path, device: &Device) -> Result<ShippedModel> {
        let model = model::load(folder, device)?;
        if *model.backbone() != ShippedConfig::from(self.encoder.config.clone()) {
            return Err(Error::corrupt(folder, "its encoder is not the experiment's"));
        }
        let frozen = matches!(self.pretrained, Shipped::Pooler(_));
        model.behind(self.backbone.clone(), |whole| match whole {
            Shipped::Bert(network) if frozen => Shipped::from(network.pooler),
            other => other,
        })
    }
}
