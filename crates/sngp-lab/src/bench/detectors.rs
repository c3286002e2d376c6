//! The detectors of a network, and the combined score.

use std::sync::Arc;

use sngp::Result;
use sngp::detect::{Combination, Detectors, Geometry};
use sngp::model::ShippedModel;
use sngp::predict::Prediction;

use super::study::Study;
use super::tuning::class_labels;

/// What a pipeline would have beside a network: detectors fitted to the hidden vectors of its training
/// examples, and the scores of held-out ones.
pub struct FittedDetectors {
    detectors: Arc<Detectors>,
    combination: Arc<Combination>,
}

impl FittedDetectors {
    /// Fits them; none for models that have no hidden vectors.
    pub fn of(model: &ShippedModel, study: &dyn Study) -> Result<Option<Self>> {
        let mut held_out = model.predict(&*study.validation().inputs)?;
        let train = study.train();
        let (true, Some(hidden)) =
            (held_out.hidden.is_some(), model.predict(&*train.inputs)?.hidden)
        else {
            return Ok(None);
        };
        let geometry = Geometry::of_directions(hidden.ncols());
        let mut detectors = Detectors::new(geometry, hidden.ncols(), study.labels().len());
        detectors.add(hidden.view(), class_labels(train)?)?;
        let detectors = Arc::new(detectors.scaled_to(&held_out)?);
        held_out.detectors = Some(detectors.clone());
        let combination = Arc::new(Combination::of(&held_out)?);
        Ok(Some(Self { detectors, combination }))
    }

    /// A prediction of the network that every score can be asked of.
    pub fn attach(fitted: Option<&Self>, prediction: Prediction) -> Prediction {
        let Some(Self { detectors, combination }) = fitted else { return prediction };
        let (detectors, combination) = (Some(detectors.clone()), Some(combination.clone()));
        Prediction { detectors, combination, ..prediction }
    }
}
