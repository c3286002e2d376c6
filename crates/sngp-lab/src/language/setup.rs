//! Data and encoder of an experiment, ready for its networks.

use std::path::Path;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use sngp::backbone::{Backbone, Bert, Pooler};
use sngp::data::Labelled;
use sngp::method::Method;
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::nn::Head;
use sngp::text::{EncoderOptions, PretrainedEncoder, TextModel};
use sngp::{Error, Result};

use super::embeddings::EmbeddingCache;
use super::experiment::{TextExperiment, Trained};
use super::task::{Task, TextTask};
use crate::bench::{BoundOf, RunOptions, Study, TuningConfig};

/// What the networks of an experiment start from and learn.
pub struct Setup<B: Backbone> {
    /// The experiment.
    pub experiment: TextExperiment,
    /// The backbone's configuration.
    pub backbone: B::Config,
    /// The backbone they start from.
    pub pretrained: B,
    /// What they learn, as sentences.
    pub sentences: TextTask,
    /// The same as their inputs.
    pub task: Task<B::Batch>,
    /// Vectors of the training sentences, where the output layer is trained on them first.
    vectors: Option<Labelled<Tensor<2>>>,
    /// The encoder the backbone comes from.
    encoder: PretrainedEncoder,
    /// The whole network around a trained backbone, and back.
    wrap: fn(&PretrainedEncoder, B) -> Bert,
    unwrap: fn(Bert) -> B,
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
        pooling: settings.pooling,
        max_tokens: settings.max_tokens,
        // What is not trained is not sampled either: its vectors are computed once.
        dropout: if frozen { Some(0.0) } else { settings.dropout },
        pooled_dropout: settings.dropout.filter(|_| frozen).unwrap_or(0.0),
    };
    let encoder = PretrainedEncoder::read(encoder_folder, &options, device)?;
    Ok((task, encoder))
}

impl Setup<Bert> {
    /// For an encoder that is trained.
    pub fn fine_tuning(
        experiment: TextExperiment,
        folder: &Path,
        cache: &Path,
        device: &Device,
    ) -> Result<Self> {
        let (task, encoder) = read(&experiment, folder, device)?;
        let inputs = Task::new(&task, |texts| encoder.sentences(texts))?;
        let vectors = match &experiment.head_first {
            None => None,
            Some(_) => {
                let cache = EmbeddingCache { folder: cache.to_path_buf() };
                let vectors = cache.table(&encoder, &task.train.texts, device)?;
                Some(Labelled::new(vectors, (*inputs.train.targets).clone())?)
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
            backbone: encoder.config.clone(),
            pretrained,
            encoder,
            experiment,
            wrap: |_, network| network,
            unwrap: |network| network,
        })
    }
}

impl Setup<Pooler> {
    /// For an encoder that is not trained: its vectors are computed once and kept in a folder.
    pub fn frozen(
        experiment: TextExperiment,
        folder: &Path,
        cache: &Path,
        device: &Device,
    ) -> Result<Self> {
        let (task, encoder) = read(&experiment, folder, device)?;
        let cache = EmbeddingCache { folder: cache.to_path_buf() };
        Ok(Self {
            task: Task::new(&task, |texts| cache.table(&encoder, texts, device))?,
            sentences: task,
            vectors: None,
            backbone: encoder.config.pooler.clone(),
            pretrained: encoder.network.pooler.clone(),
            encoder,
            experiment,
            wrap: |encoder, pooler| Bert { encoder: encoder.network.encoder.clone(), pooler },
            unwrap: |network| network.pooler,
        })
    }
}

impl<B: Backbone> Setup<B> {
    /// The output layer that networks of a configuration start from, where it is trained first.
    fn head(&self, config: &ModelConfig, options: &RunOptions<'_>) -> Result<Option<Head>> {
        let (Some(vectors), Some(training)) = (&self.vectors, &self.experiment.head_first) else {
            return Ok(None);
        };
        let config = &ModelConfig { training: training.clone(), ..config.clone() };
        let pooler = self.encoder.network.pooler.clone().no_grad();
        let estimator =
            Estimator::<Pooler>::new(config.clone(), self.encoder.config.pooler.clone())
                .with_pretrained(pooler);
        let name = format!("{} seed {}, output layer first", config.method, config.seed);
        let observe = |_| (options.observe)(name.clone());
        let fit = FitOptions {
            interrupter: options.interrupter.clone(),
            observe: &observe,
            ..FitOptions::new(options.device)
        };
        let model = estimator.fit(vectors, fit)?;
        Ok(model.networks().next().map(|network| network.head.clone()))
    }

    /// A fitted model as one that takes text.
    pub fn export(&self, model: Model<B>) -> Result<TextModel> {
        let encoder = &self.encoder;
        let model = model.behind(encoder.config.clone(), |own| (self.wrap)(encoder, own))?;
        TextModel::new(model, encoder.tokenizer.clone())
    }
}

impl<B: Backbone> Study for Setup<B> {
    type Backbone = B;
    const BOUND: BoundOf = BoundOf::Dense;

    fn model_for(&self, method: &Method) -> Result<ModelConfig> {
        self.experiment.model_for(method)
    }

    fn tuning(&self) -> &TuningConfig {
        &self.experiment.tuning
    }

    fn train(&self) -> &Labelled<B::Batch> {
        &self.task.train
    }

    fn validation(&self) -> &Labelled<B::Batch> {
        &self.task.validation
    }

    fn labels(&self) -> &[String] {
        &self.task.labels
    }

    fn estimator(&self, config: ModelConfig) -> Estimator<B> {
        Estimator::new(config, self.backbone.clone()).with_pretrained(self.pretrained.clone())
    }

    fn depends_on(&self) -> String {
        format!("{:?}", self.experiment.head_first)
    }

    fn fit(
        &self,
        mut estimator: Estimator<B>,
        fit: FitOptions<'_, B>,
        options: &RunOptions<'_>,
    ) -> Result<Model<B>> {
        estimator.head = self.head(&estimator.config, options)?;
        estimator.fit(&self.task.train, fit)
    }

    /// As a model that takes text.
    fn save(&self, model: Model<B>, folder: &Path) -> Result<()> {
        self.export(model)?.save(folder)
    }

    fn load(&self, folder: &Path, device: &Device) -> Result<Model<B>> {
        let model = Model::<Bert>::load(folder, device)?;
        if *model.backbone() != self.encoder.config {
            return Err(Error::corrupt(folder, "its encoder is not the experiment's"));
        }
        model.behind(self.backbone.clone(), self.unwrap)
    }
}
