//! What is chosen on held-out data.

use serde::{Deserialize, Serialize};
use sngp::backbone::ShippedBatch;
use sngp::data::{Labelled, Targets};
use sngp::metrics::nll;
use sngp::model::{Decision, ShippedModel};
use sngp::predict::{Calibration, Integration};
use sngp::{Error, Result};

/// What is chosen on held-out data, never on test data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TuningConfig {
    /// Mean-field factors to choose from by the negative log-likelihood of held-out examples of
    /// the known classes.
    pub factors: Vec<f64>,
    /// Ridges to choose from, likewise.
    pub ridges: Vec<f64>,
    /// The share of such examples that the saved model rejects at most.
    pub abstain: f64,
}

impl Default for TuningConfig {
    fn default() -> Self {
        Self { factors: Vec::new(), ridges: Vec::new(), abstain: 0.05 }
    }
}

impl TuningConfig {
    /// Whether anything is left to choose.
    pub(super) fn chooses(&self) -> bool {
        !(self.factors.is_empty() && self.ridges.is_empty())
    }

    /// Refuses choices that no model can have.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(value) = self.factors.iter().find(|v| !(v.is_finite() && **v >= 0.0)) {
            return Err(Error::config("factors", value, "it must be finite and not negative"));
        }
        if let Some(value) = self.ridges.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
            return Err(Error::config("ridges", value, "it must be finite and positive"));
        }
        if !(self.abstain > 0.0 && self.abstain < 1.0) {
            return Err(Error::config("abstain", self.abstain, "it is a share, in (0, 1)"));
        }
        Ok(())
    }

    /// Refuses, before anything is trained, an integration that the choice of a factor would
    /// replace.
    pub(super) fn check_integration(&self, integration: Integration) -> Result<()> {
        if self.factors.is_empty() || matches!(integration, Integration::MeanField { .. }) {
            return Ok(());
        }
        let message = format!(
            "{integration:?} has no effect where a mean-field factor is chosen; leave `factors` of \
             `tuning` empty to keep it"
        );
        Err(Error::Data(message))
    }

    /// Refuses, before anything is trained, fewer held-out examples than the threshold needs.
    pub(super) fn check_rows(&self, held_out: usize) -> Result<()> {
        let needed = (1.0 / self.abstain).ceil() as usize - 1;
        if held_out >= needed {
            return Ok(());
        }
        let message = format!(
            "rejecting at most {} of the examples takes {needed} held-out ones, there are {held_out}; \
             set abstain higher",
            self.abstain
        );
        Err(Error::Data(message))
    }
}

/// Chooses ridge and mean-field factor by the negative log-likelihood of held-out examples, for
/// models that have a variance. What there is no choice of stays as it is configured.
pub(super) fn tune(
    model: ShippedModel,
    held_out: &Labelled<ShippedBatch>,
    config: &TuningConfig,
) -> Result<ShippedModel> {
    if !config.chooses() || model.precisions().next().is_none() {
        return Ok(model);
    }
    let labels = class_labels(held_out)?;
    let ridges = match config.ridges.as_slice() {
        [] => vec![model.config().posterior.ridge],
        ridges => ridges.to_vec(),
    };
    let mut best: Option<(f64, ShippedModel)> = None;
    for ridge in ridges {
        let model = model.clone().with_ridge(ridge)?;
        let prediction = model.predict(&*held_out.inputs)?;
        let (loss, integration) = match config.factors.as_slice() {
            [] => (nll(prediction.probabilities()?, labels)?, model.config().integration),
            factors => {
                let found = Calibration::search(&prediction, labels, &[1.0], factors, 0.0)?;
                (found.loss, Integration::MeanField { factor: found.factor })
            }
        };
        if best.as_ref().is_none_or(|(least, _)| loss < *least) {
            best = Some((loss, model.with_integration(integration)?));
        }
    }
    Ok(best.map_or(model, |(_, tuned)| tuned))
}

/// Lets the model abstain, by its default score.
pub(super) fn decide(
    model: ShippedModel,
    held_out: &Labelled<ShippedBatch>,
    config: &TuningConfig,
) -> Result<ShippedModel> {
    let score = model.config().score();
    let uncertainty = score.evaluate(&model.predict(&*held_out.inputs)?)?;
    let decision = Decision::rejecting_at_most(config.abstain, score, &uncertainty)?;
    Ok(model.with_decision(decision))
}

/// The classes of labelled examples.
pub fn class_labels<B>(data: &Labelled<B>) -> Result<&[usize]> {
    match &*data.targets {
        Targets::Classes { labels, .. } => Ok(labels),
        Targets::Values(_) => Err(Error::Unsupported("classes are needed".to_string())),
    }
}
