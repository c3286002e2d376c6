//! Text experiments as TOML files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sngp::backbone::Pooling;
use sngp::method::Method;
use sngp::model::ModelConfig;
use sngp::train::TrainingConfig;
use sngp::{Error, Result};

use crate::bench::TuningConfig;
use crate::experiment::{check_networks, overlaid, read};

/// The experiments that are built into the binary, by name.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("clinc-minilm", include_str!("../../experiments/clinc-minilm.toml")),
    ("clinc-mpnet", include_str!("../../experiments/clinc-mpnet.toml")),
    ("clinc-frozen", include_str!("../../experiments/clinc-frozen.toml")),
];

/// An experiment on sentences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextExperiment {
    /// The sentences.
    pub data: DataConfig,
    /// The pretrained encoder.
    pub encoder: EncoderSettings,
    /// A training of the output layer alone, on the vectors of the encoder as it is, before the
    /// encoder is trained: from a random output layer the first steps would spoil what
    /// pretraining taught it (Kumar et al., 2022).
    pub head_first: Option<TrainingConfig>,
    /// What is chosen on held-out data.
    #[serde(default)]
    pub tuning: TuningConfig,
    /// The options of every part; the method is set by the benchmark.
    pub model: ModelConfig,
    /// What single methods have otherwise: a table of the shape of `model` for each of them.
    #[serde(default)]
    pub methods: toml::Table,
}

/// Where sentences come from. Paths are relative to the data folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum DataConfig {
    /// A file of CLINC OOS: `data_full.json`, `data_small.json` or `data_oos_plus.json`.
    Clinc {
        /// The file.
        file: PathBuf,
    },
    /// Tables with a text and a label column: CSV, TSV, JSONL or Parquet.
    Tables {
        /// Training sentences.
        train: PathBuf,
        /// Held-out sentences of the same classes.
        validation: PathBuf,
        /// Test sentences of the same classes.
        test: PathBuf,
        /// Sentences of no class; a table, or a `.txt` file with one a line.
        out_of_scope: PathBuf,
        /// The column of the texts.
        text: String,
        /// The column of the labels.
        label: String,
    },
    /// SNIPS: `train`, `valid` and `test`, each `.label` and `.seq.in`; a class is left out of
    /// training and is what the model should not know.
    Snips {
        /// The folder of the six files.
        folder: PathBuf,
        /// The class that is left out.
        left_out: String,
    },
}

/// Which encoder, and how much of it is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderSettings {
    /// A Hugging Face folder, relative to the data folder.
    pub folder: PathBuf,
    /// How the vectors of tokens become one.
    #[serde(default)]
    pub pooling: Pooling,
    /// Where sentences are cut, special tokens included.
    #[serde(default = "max_tokens")]
    pub max_tokens: usize,
    /// What of it is trained.
    #[serde(default)]
    pub train: Trained,
    /// Dropout rate in place of the encoder's own; for an encoder that is not trained, that of
    /// its vectors.
    pub dropout: Option<f64>,
}

fn max_tokens() -> usize {
    32
}

/// How much of an encoder is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trained {
    /// All of it.
    #[default]
    Everything,
    /// The layers, not the embeddings.
    Layers,
    /// Nothing: its vectors are computed once, and kept.
    Nothing,
}

impl TextExperiment {
    /// Parses an experiment. Unknown names are refused wherever they stand.
    ///
    /// ```
    /// use sngp_lab::language::{BUILT_IN, TextExperiment};
    ///
    /// for (name, text) in BUILT_IN {
    ///     assert!(TextExperiment::parse(text).is_ok(), "{name}");
    /// }
    /// assert!(TextExperiment::parse("epochs = 3").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let experiment: Self = read(text)?;
        check_networks(&experiment.model, &experiment.methods, &experiment.tuning)?;
        if experiment.head_first.is_some() && experiment.encoder.train == Trained::Nothing {
            let message = "head_first trains the output layer before the encoder, but train is \
                           `nothing`; remove one of them";
            return Err(Error::Data(message.to_string()));
        }
        Ok(experiment)
    }

    /// The configuration of a method: what all share, and over it what is its own.
    pub fn model_for(&self, method: &Method) -> Result<ModelConfig> {
        overlaid(&self.model, &self.methods, method)
    }
}
