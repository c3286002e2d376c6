//! What is chosen on held-out data.

use sngp::backbone::Backbone;
use sngp::data::{Labelled, Targets};
use sngp::metrics::nll;
use sngp::model::{Decision, Model};
use sngp::predict::Integration;
use sngp::{Error, Result};

use super::experiment::TuningConfig;

/// Chooses ridge and mean-field factor by the negative log-likelihood of held-out examples, for
/// models that have a variance.
pub(super) fn tune<B: Backbone>(
    model: Model<B>,
    held_out: &Labelled<B::Batch>,
    config: &TuningConfig,
) -> Result<Model<B>> {
    let labels = class_labels(held_out)?;
    let mut best: Option<(f64, Model<B>)> = None;
    let ridges = match config.ridges.as_slice() {
        [] => vec![model.config().posterior.ridge],
        ridges => ridges.to_vec(),
    };
    let factors = match config.factors.as_slice() {
        [] => vec![model.config().integration.mean_field_factor()],
        factors => factors.to_vec(),
    };
    if model.precisions().next().is_some() {
        for ridge in ridges {
            let model = model.clone().with_ridge(ridge)?;
            let prediction = model.predict(&*held_out.inputs)?;
            let loss = |factor: f64| {
                let variance = prediction.variance.as_ref().map(|v| v.view());
                let integration = Integration::MeanField { factor };
                let probabilities = integration.softmax(prediction.logits.view(), variance)?;
                Ok((nll(probabilities.view(), labels)?, integration))
            };
            let losses = factors.iter().map(|&factor| loss(factor)).collect::<Result<Vec<_>>>()?;
            let least = losses.into_iter().min_by(|(a, _), (b, _)| a.total_cmp(b));
            if let Some((loss, integration)) = least
                && best.as_ref().is_none_or(|(least, _)| loss < *least)
            {
                best = Some((loss, model.with_integration(integration)?));
            }
        }
    }
    Ok(best.map_or(model, |(_, tuned)| tuned))
}

/// Lets the model abstain, by its default score.
pub(super) fn decide<B: Backbone>(
    model: Model<B>,
    held_out: &Labelled<B::Batch>,
    config: &TuningConfig,
) -> Result<Model<B>> {
    let score = model.config().score();
    let uncertainty = score.evaluate(&model.predict(&*held_out.inputs)?)?;
    let decision = Decision::turning_away_at_most(config.abstain, score, &uncertainty)?;
    Ok(model.with_decision(decision))
}

/// The classes of labelled examples.
pub(super) fn class_labels<B>(data: &Labelled<B>) -> Result<&[usize]> {
    match &*data.targets {
        Targets::Classes { labels, .. } => Ok(labels),
        Targets::Values(_) => Err(Error::Unsupported("classes are needed".to_string())),
    }
}
