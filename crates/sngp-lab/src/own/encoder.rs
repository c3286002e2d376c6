//! Sentences through a pretrained encoder.

use std::path::Path;
use std::time::Instant;

use ndarray::Array2;
use sngp::Result;
use sngp::backbone::{Bert, Pooler};
use sngp::data::{Labelled, Table};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::text::{EncoderOptions, PretrainedEncoder, TextModel};
use sngp::train::{Decay, Schedule};

use super::fit::{Fit, config_of_embeddings, fit_options, is_direct, rescaled, sample};
use super::labels::Learning;
use super::model::Fitted;
use super::recipe::Prepared;
use super::train::{Parts, TrainOptions};

/// Fits an output layer to the vectors of an encoder, and the encoder too where that is wanted.
pub(super) fn fit(
    folder: &Path,
    parts: &Parts,
    learning: &Learning,
    options: &TrainOptions<'_>,
) -> Result<Fit> {
    let max_tokens = options.max_tokens.min(PretrainedEncoder::longest(folder)?);
    let settings = EncoderOptions { max_tokens, ..Default::default() };
    let encoder = PretrainedEncoder::read(folder, &settings, options.device)?;
    let (train, held_out) = (texts(&parts.train)?, texts(&parts.held_out)?);
    let vectors = encoder.embed(&encoder.sentences(train)?, options.device);
    let sample = sample(vectors.nrows(), |rows| vectors.select(ndarray::Axis(0), rows));
    let config = config_of_embeddings(options, &sample);
    let started = Instant::now();
    let (model, words) = match options.fine_tune {
        true => fine_tuned(&encoder, &vectors, train, config, learning, options)?,
        false => frozen(&encoder, &vectors, config, learning, options)?,
    };
    let seconds = started.elapsed().as_secs_f64();
    let model = TextModel::new(model, encoder.tokenizer.clone())?;
    let prediction = model.predict(held_out)?;
    let model = model.change(|model| rescaled(model, &prediction, learning))?;
    Ok(Fit { fitted: Fitted::Text(Box::new(model)), words, seconds })
}

fn texts(prepared: &Prepared) -> Result<&[String]> {
    match prepared {
        Prepared::Texts(texts) => Ok(texts),
        Prepared::Vectors(_) => {
            Err(sngp::Error::Unsupported("an encoder takes sentences".to_string()))
        }
    }
}

/// The output layer on the encoder's vectors as they are.
fn on_vectors(
    encoder: &PretrainedEncoder,
    vectors: &Array2<f32>,
    config: ModelConfig,
    learning: &Learning,
    options: &TrainOptions<'_>,
) -> Result<(Model<Pooler>, String)> {
    let estimator = Estimator::<Pooler>::new(config, encoder.config.pooler.clone())
        .with_pretrained(encoder.network.pooler.clone());
    let data = Labelled::new(Table::new(vectors.view())?, learning.train.clone())?;
    if is_direct(options, false) {
        let (model, convergence) = estimator.fit_output(&data, fit_options(options, learning))?;
        let iterations = convergence.iterations;
        return Ok((
            model,
            format!("frozen encoder, output layer solved in {iterations} iterations"),
        ));
    }
    let model = estimator.fit(&data, fit_options(options, learning))?;
    Ok((model, format!("frozen encoder, layers on top trained for {} epochs", options.epochs)))
}

fn frozen(
    encoder: &PretrainedEncoder,
    vectors: &Array2<f32>,
    mut config: ModelConfig,
    learning: &Learning,
    options: &TrainOptions<'_>,
) -> Result<(Model<Bert>, String)> {
    config.training.batch_size = 256;
    config.training.learning_rate = 1e-3;
    config.training.head_learning_rate = Some(5e-3);
    let (model, fit) = on_vectors(encoder, vectors, config, learning, options)?;
    let wrap = |pooler| Bert { encoder: encoder.network.encoder.clone(), pooler };
    Ok((model.behind(encoder.config.clone(), wrap)?, fit))
}

fn fine_tuned(
    encoder: &PretrainedEncoder,
    vectors: &Array2<f32>,
    sentences: &[String],
    mut config: ModelConfig,
    learning: &Learning,
    options: &TrainOptions<'_>,
) -> Result<(Model<Bert>, String)> {
    config.training.batch_size = 32;
    config.training.learning_rate = 1e-4;
    config.training.head_learning_rate = Some(1e-3);
    config.training.weight_decay = 0.01;
    config.training.clip_norm = Some(1.0);
    config.training.schedule = Schedule { warm_up: 0.1, decay: Decay::Linear };
    let mut estimator = Estimator::<Bert>::new(config.clone(), encoder.config.clone())
        .with_pretrained(encoder.network.clone());
    if is_direct(options, false) {
        // A random output layer would first spoil the encoder.
        let (first, _) = on_vectors(encoder, vectors, config, learning, options)?;
        if let Some(network) = first.networks().next() {
            estimator = estimator.with_head(network.head.clone());
        }
    }
    let data = Labelled::new(encoder.sentences(sentences)?, learning.train.clone())?;
    let fit: FitOptions<'_, Bert> = fit_options(options, learning);
    let model = estimator.fit(&data, fit)?;
    Ok((model, format!("encoder and output layer, {} epochs", options.epochs)))
}
