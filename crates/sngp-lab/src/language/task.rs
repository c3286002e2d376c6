//! What is learned and what it is measured on.

use std::path::Path;
use std::sync::Arc;

use sngp::data::{Inputs, Labelled, Targets};
use sngp::{Error, Result};

use super::experiment::DataConfig;
use crate::dataset::text::{Clinc, TextSet, read_snips, read_table, read_texts};

/// Sentences of known classes, and others.
#[derive(Clone, Debug)]
pub struct TextTask {
    /// The names of the classes.
    pub labels: Vec<String>,
    /// What models are trained on.
    pub train: TextSet,
    /// What choices are made on.
    pub validation: TextSet,
    /// What is measured.
    pub test: TextSet,
    /// Sentences of no class.
    pub out_of_scope: Vec<String>,
}

impl TextTask {
    /// Reads the sentences of an experiment.
    pub fn read(config: &DataConfig, folder: &Path) -> Result<Self> {
        let (train, validation, test, out_of_scope) = match config {
            DataConfig::Clinc { file } => {
                let clinc = Clinc::read(folder.join(file)).map_err(data)?;
                (clinc.train, clinc.validation, clinc.test, clinc.out_of_scope_test)
            }
            DataConfig::Tables { train, validation, test, out_of_scope, text, label } => {
                let table = |file| read_table(folder.join(file), text, label).map_err(data);
                let ood = read_texts(folder.join(out_of_scope), text).map_err(data)?;
                (table(train)?, table(validation)?, table(test)?, ood)
            }
            DataConfig::Snips { folder: snips, left_out } => {
                let part = |name: &str| {
                    let file = |ending| folder.join(snips).join(format!("{name}.{ending}"));
                    read_snips(file("label"), file("seq.in")).map_err(data)
                };
                let (train, _) = part("train")?.split_off(left_out);
                let (validation, _) = part("valid")?.split_off(left_out);
                let (test, ood) = part("test")?.split_off(left_out);
                if ood.is_empty() {
                    let known = test.label_names().join(", ");
                    let message = format!("left_out is `{left_out}`, the classes are {known}");
                    return Err(Error::Data(message));
                }
                (train, validation, test, ood.texts)
            }
        };
        if out_of_scope.is_empty() {
            return Err(Error::Data("there are no sentences out of scope".to_string()));
        }
        Ok(Self { labels: train.label_names(), train, validation, test, out_of_scope })
    }
}

fn data(error: crate::dataset::text::DatasetError) -> Error {
    Error::Data(error.to_string())
}

/// A task as inputs of a backbone.
pub struct Task<B> {
    /// The names of the classes.
    pub labels: Vec<String>,
    /// What models are trained on.
    pub train: Labelled<B>,
    /// What choices are made on.
    pub validation: Labelled<B>,
    /// What is measured.
    pub test: Labelled<B>,
    /// Inputs of no class.
    pub out_of_scope: Arc<dyn Inputs<B>>,
}

impl<B> Task<B> {
    /// Makes inputs of the sentences.
    pub fn new<I: Inputs<B> + 'static>(
        task: &TextTask,
        mut inputs: impl FnMut(&[String]) -> Result<I>,
    ) -> Result<Self> {
        let mut labelled = |set: &TextSet, what: &str| {
            let labels = set
                .indices(&task.labels)
                .map_err(|error| Error::Data(format!("{what} sentences: {error}")))?;
            Labelled::new(inputs(&set.texts)?, Targets::classes(labels, task.labels.len())?)
        };
        Ok(Self {
            train: labelled(&task.train, "training")?,
            validation: labelled(&task.validation, "validation")?,
            test: labelled(&task.test, "test")?,
            labels: task.labels.clone(),
            out_of_scope: Arc::new(inputs(&task.out_of_scope)?),
        })
    }
}
