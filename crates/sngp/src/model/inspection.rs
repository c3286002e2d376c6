//! What a model can tell about itself.

use serde::Serialize;

use super::config::ModelConfig;
use super::decision::Decision;
use super::fitted::{Fitted, Model};
use crate::Result;
use crate::backbone::Backbone;
use crate::posterior::Health;
use crate::score::Score;
use crate::spectral::SpectralReport;

/// The report on a model.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// The backbone's name.
    pub backbone: &'static str,
    /// Its configuration.
    pub backbone_config: serde_json::Value,
    /// Everything else about the model.
    pub config: ModelConfig,
    /// The names of the classes.
    pub labels: Vec<String>,
    /// When it abstains, if it has been told.
    pub decision: Option<Decision>,
    /// One report a network; none for the exact GP.
    pub members: Vec<MemberInspection>,
}

impl Inspection {
    /// Whether it has a Laplace posterior, and so a variance; the exact GP has its own.
    pub fn has_posterior(&self) -> bool {
        self.members.iter().any(|member| member.posterior.is_some())
    }

    /// The score it is uncertain by; none where it predicts numbers without a variance.
    pub fn score(&self) -> Option<Score> {
        let has_classes = self.config.likelihood.classes(1) > 0;
        (has_classes || self.has_posterior()).then(|| self.config.score())
    }
}

/// The report on one network.
#[derive(Clone, Debug, Serialize)]
pub struct MemberInspection {
    /// Parameters of the network, frozen ones included.
    pub parameters: usize,
    /// Its spectral norms. Without spectral normalization no bound was enforced, and the report
    /// compares with the bounds that would have been.
    pub spectral: SpectralReport,
    /// Whether the bounds were enforced.
    pub normalized: bool,
    /// The condition of its posterior, with a Gaussian-process head.
    pub posterior: Option<Health>,
}

impl<B: Backbone> Model<B> {
    /// Examines the model; nothing in it is changed.
    pub fn inspect(&self) -> Result<Inspection> {
        let members = match &self.fitted {
            Fitted::Exact(_) => Vec::new(),
            Fitted::Networks(members) => members
                .iter()
                .map(|member| {
                    let posterior = member.posterior.as_ref();
                    Ok(MemberInspection {
                        parameters: burn::module::Module::num_params(&member.network),
                        spectral: SpectralReport::measure(
                            &member.network.backbone,
                            &self.config.spectral,
                        ),
                        normalized: member.network.spectral.is_some(),
                        posterior: posterior
                            .map(|p| Health::examine(p.precision(), p.ridge()))
                            .transpose()?,
                    })
                })
                .collect::<Result<_>>()?,
        };
        Ok(Inspection {
            backbone: B::name(&self.backbone),
            backbone_config: serde_json::to_value(&self.backbone).unwrap_or_default(),
            config: self.config.clone(),
            labels: self.labels.clone(),
            decision: self.decision.clone(),
            members,
        })
    }
}
