//! A pipeline around an output layer that was fitted elsewhere.

use sngp::data::Targets;
use sngp::model::ShippedModel;
use sngp::{Error, Result};

use super::examples::{Examples, TrainInputs};
use super::finish::{Promise, finish};
use super::labels::{Learning, known_rows};
use super::network::{Fit, calibrated};
use super::options::Options;
use crate::input::{Dataset, Preparation, Prepared};
use crate::pipeline::Pipeline;

impl Pipeline {
    /// The pipeline of a model of vectors, such as one fitted by sums over many machines. A
    /// labelled sample of its training rows tells the guard what inputs are like; on held-out rows
    /// its probabilities are calibrated and it is chosen when it abstains. Nobody keeps which rows
    /// it has learned from.
    pub fn of_output(
        model: ShippedModel,
        sample: &Dataset,
        held_out: &Dataset,
        words: &str,
    ) -> Result<Self> {
        let options = Options { device: model.device().clone(), ..Default::default() };
        let preparation = Preparation::Vectors {
            vectors: "vectors".to_string(),
            width: sngp::model::AnyModel::hidden_width(&model),
        };
        let labels = model.labels().to_vec();
        let known = |set: &Dataset| -> Result<(Prepared, Vec<usize>)> {
            let known = known_rows(set.labels()?, &labels);
            if known.rows.is_empty() {
                return Err(Error::Data(format!("{}: no row has a known label", set.file)));
            }
            Ok((preparation.prepare_all(set, &known.rows)?, known.classes))
        };
        let (train, train_classes) = known(sample)?;
        let (held_out, held_classes) = known(held_out)?;
        let Prepared::Vectors(vectors) = train else {
            return Err(Error::Unsupported("vectors are needed".to_string()));
        };
        let rows = model.precisions().next().map_or(0, |precision| precision.rows() as usize);
        let examples = Examples {
            preparation: preparation.clone(),
            train: TrainInputs::Vectors(vectors),
            hashes: Vec::new(),
            held_out,
            learned_held_out: None,
            learning: Learning {
                names: labels.clone(),
                train: Targets::classes(train_classes, labels.len())?,
                held_out: Targets::Classes { labels: held_classes, classes: labels.len() },
                units: (0.0, 1.0),
            },
            rows: (0..rows).collect(),
        };
        let fit = Fit { model, tokenizer: None, words: words.to_string(), seconds: 0.0 };
        let fit = calibrated(fit, &examples)?;
        let mut pipeline =
            finish(fit, &examples, &Promise::All, sample, &options, &mut Vec::new())?;
        pipeline.seen = None;
        Ok(pipeline)
    }
}
