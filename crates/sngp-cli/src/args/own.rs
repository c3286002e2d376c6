//! Arguments of the commands for people's own data.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use sngp::method::Method;
use sngp::score::Score;

use super::{at_least_one, method};

/// What inputs are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindName {
    /// Columns of numbers and categories
    Table,
    /// A column of text (--text)
    Text,
    /// Vectors of another model
    Embeddings,
    /// Image files, a sub-folder a class or a column of paths
    Images,
}

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TaskName {
    /// A class, with its probability
    Classification,
    /// A number, with an interval
    Regression,
}

/// What probabilities are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PredictiveName {
    /// The model's own
    Plain,
    /// Mixed with the uniform distribution where a row is unlike the held-out ones (Eq. 4 of the
    /// paper)
    Minimax,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sngp train --data customers.csv --label churned\n  \
    sngp train --data intents.csv --label intent --text sentence\n  \
    sngp train --data intents.csv --label intent --encoder models/all-MiniLM-L6-v2\n  \
    sngp train --data vectors.npz:train_x:train_y --validation vectors.npz:val_x:val_y\n  \
    sngp train --data photos --out photo-model          # a sub-folder a class\n  \
    sngp train --data photos --encoder resnet50.onnx    # its features, frozen\n  \
    sngp train --data houses.csv --label price --task regression\n\n\
    Tables: .csv .tsv .jsonl .parquet, also .gz. Vectors: .npy .npz .safetensors (FILE:VECTORS:\n\
    LABELS names the arrays), or a Parquet column of lists. s3://, gs:// and az:// addresses of\n\
    files are read too. Without --validation a share of the\n\
    rows is held out; on those the probabilities are calibrated and a threshold is chosen that\n\
    rejects at most 5 % of examples like them (`sngp calibrate` changes it).")]
pub struct Train {
    /// The examples: a file, FILE:VECTORS:LABELS, or a folder of images
    #[arg(long, value_name = "FILE")]
    pub data: String,
    /// The column of labels (an array's name, or a file with the labels of an .npy file)
    #[arg(long, value_name = "COLUMN", default_value = "label")]
    pub label: String,
    /// Folder for the model [default: the data's name with `-model`]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Replace a model that is there
    #[arg(long)]
    pub force: bool,
    /// Held-out examples to calibrate on, instead of a share of the data
    #[arg(long, value_name = "FILE")]
    pub validation: Option<String>,
    /// What the data is, instead of a guess
    #[arg(long, value_name = "KIND")]
    pub kind: Option<KindName>,
    /// The column of text
    #[arg(long, value_name = "COLUMN")]
    pub text: Option<String>,
    /// The column of vectors, in a table
    #[arg(long, value_name = "COLUMN", conflicts_with = "text")]
    pub vectors: Option<String>,
    /// A pretrained encoder of texts or images: an ONNX file, its features guessed or named
    /// (FILE.onnx:TENSOR), a folder of published weights (config.json, model.safetensors,
    /// tokenizer.json or preprocessor_config.json), or a name on the Hugging Face hub
    /// (ORGANISATION/NAME or ORGANISATION/NAME@REVISION). Without one, texts go by their words and letters, and a small
    /// network is trained on images
    #[arg(long, value_name = "ENCODER")]
    pub encoder: Option<PathBuf>,
    /// Train the encoder too
    #[arg(long, requires = "encoder")]
    pub fine_tune: bool,
    /// The encoder is a classifier whose own answers stay: the model says when to trust them
    #[arg(long, requires = "encoder", conflicts_with = "fine_tune")]
    pub keep_classifier: bool,
    /// Where texts are cut for an encoder, in tokens
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = at_least_one)]
    pub max_tokens: usize,
    /// What every text begins with for an encoder, e.g. `query: `; as its files say when absent
    #[arg(long, value_name = "TEXT", requires = "encoder")]
    pub prompt: Option<String>,
    /// Columns not to use, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub ignore: Vec<String>,
    /// What is predicted
    #[arg(long, value_name = "TASK", default_value = "classification")]
    pub task: TaskName,
    /// The method (see `sngp list`)
    #[arg(long, value_name = "NAME", default_value = "sngp", value_parser = method)]
    pub method: Method,
    /// Random features of the Gaussian process
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = at_least_one)]
    pub features: usize,
    /// Length scale of the kernel [default: half the median squared distance between rows, or what
    /// is found best by a search: of vectors, and with --tune]
    #[arg(long, value_name = "L")]
    pub length_scale: Option<f64>,
    /// Strength of the prior on the output weights, for classification [default: what is found best
    /// for vectors, otherwise 0.02]
    #[arg(long, value_name = "X")]
    pub l2: Option<f64>,
    /// Seconds to look for length scale, prior and units of vectors in, an encoder's included; rows
    /// of the training choose, none of those held out. 0 looks for nothing
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub budget: f64,
    /// Try several length scales and priors and keep what is best on the held-out rows; tables of
    /// up to 5,000 rows are treated so unless --length-scale is given
    #[arg(long)]
    pub tune: bool,
    /// Epochs, where a network is trained [default: 4 with --fine-tune, otherwise 40]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub epochs: Option<usize>,
    /// Height and width that images are resized to, a multiple of 4 from 8 on
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = at_least_one)]
    pub image_size: usize,
    /// What probabilities are said
    #[arg(long, value_name = "NAME", default_value = "plain")]
    pub predictive: PredictiveName,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sngp evaluate intents-model --data test.csv --ood chatter.csv\n  \
    sngp evaluate intents-model --data test.csv --ood near=near.csv --ood far=chatter.csv\n  \
    sngp evaluate vectors-model --data v.npz:test_x:test_y --ood v.npz:oos_x")]
pub struct Evaluate {
    /// A model made by `sngp train`
    pub model: PathBuf,
    /// Labelled examples like those of the training
    #[arg(long, value_name = "FILE")]
    pub data: String,
    /// Out-of-distribution (OOD) examples, which should be rejected; may be given several times,
    /// each set is called by its file unless NAME is given
    #[arg(long, value_name = "[NAME=]FILE")]
    pub ood: Vec<String>,
    /// Labelled examples under other conditions
    #[arg(long, value_name = "FILE")]
    pub shift: Option<String>,
    /// The column of labels, where it is not called as in the training
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// Stop at rows that cannot be used and at labels that are no class of the model, instead of
    /// leaving them out with a warning
    #[arg(long)]
    pub strict: bool,
    /// Folder for report.html, the plots and the figures as JSON
    /// [default: the model's name with `-report`]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sngp calibrate intents-model --data held_out.csv --max-error 0.02 --confidence 0.95\n  \
    sngp calibrate intents-model --data held_out.csv --max-error 0.02 --on-average\n  \
    sngp calibrate intents-model --data held_out.csv --max-abstain 0.05\n  \
    sngp calibrate intents-model --data held_out.csv --max-abstain 0.05 --per-class\n  \
    sngp calibrate intents-model --data held_out.csv --tune-factor --max-abstain 0.05\n\n\
    --max-error promises that of the accepted examples at most this share is wrong, with the given\n\
    confidence, as long as examples to come are like the held-out ones. These must not have been\n\
    used for anything else. With --on-average the share is at most that on average over held-out\n\
    sets (of the share of these examples that is accepted), and about every second set is above.")]
pub struct Calibrate {
    /// A model made by `sngp train`; its decision rule is replaced
    pub model: PathBuf,
    /// Labelled examples the model has not seen
    #[arg(long, value_name = "FILE")]
    pub data: String,
    /// The largest share of errors among accepted examples
    #[arg(long, value_name = "SHARE", conflicts_with = "max_abstain")]
    pub max_error: Option<f64>,
    /// The confidence that --max-error holds
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub confidence: f64,
    /// Let --max-error hold on average over held-out sets like this one instead: accepts more
    #[arg(long, requires = "max_error", conflicts_with = "confidence")]
    pub on_average: bool,
    /// Let --max-error or --max-abstain hold for the answers of each class by itself, with a
    /// threshold a class; nothing is answered as a class of which it cannot be shown
    #[arg(long, conflicts_with = "threshold")]
    pub per_class: bool,
    /// The largest share of examples like these that is rejected
    #[arg(long, value_name = "SHARE")]
    pub max_abstain: Option<f64>,
    /// The largest uncertainty that is accepted, e.g. one found with the report's slider
    #[arg(long, value_name = "VALUE", conflicts_with_all = ["max_error", "max_abstain"])]
    pub threshold: Option<f64>,
    /// Choose the mean-field factor by the likelihood of these examples
    #[arg(long)]
    pub tune_factor: bool,
    /// What probabilities are said from now on; how fast minimax ones go to uniform is chosen by
    /// these examples
    #[arg(long, value_name = "NAME")]
    pub predictive: Option<PredictiveName>,
    /// The score to decide by [default: max_probability with --max-error, otherwise the model's]
    #[arg(long, value_name = "NAME", value_parser = score)]
    pub score: Option<Score>,
    /// The column of labels, where it is not called as in the training
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sngp update intents-model --data new.csv            # now it has seen these\n  \
    sngp update intents-model --data new.csv --forget   # as if it never had\n  \
    sngp update intents-model --data today.csv --decay 0.99\n\n\
    The variance is updated, exactly and without retraining; the mean stays what it is.")]
pub struct Update {
    /// A model made by `sngp train`
    pub model: PathBuf,
    /// The examples
    #[arg(long, value_name = "FILE")]
    pub data: String,
    /// Take the examples out again
    #[arg(long, conflicts_with = "decay")]
    pub forget: bool,
    /// Let what was seen before count less: a factor in (0, 1]
    #[arg(long, value_name = "FACTOR")]
    pub decay: Option<f64>,
    /// Folder for the changed model [default: in place]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Replace another model that is there
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  \
    sngp precision model --data part-1.parquet --out 1.precision   # on one machine\n  \
    sngp precision model --data part-2.parquet --out 2.precision   # on another\n  \
    sngp merge model 1.precision 2.precision --out merged-model")]
pub struct PrecisionArgs {
    /// A model made by `sngp train`
    pub model: PathBuf,
    /// A shard of the training data
    #[arg(long, value_name = "FILE")]
    pub data: String,
    /// File for its part of the precision
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct Merge {
    /// The model the parts were made with
    pub model: PathBuf,
    /// Parts written by `sngp precision`
    #[arg(required = true)]
    pub parts: Vec<PathBuf>,
    /// Folder for the model with the merged posterior
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Replace a model that is there
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  \
    sngp export trees-model --out trees.onnx\n\n\
    The graph has standard operators only (opset 18) and takes any number of rows. Its outputs are\n\
    label, probabilities, logits, variance, the scores, p_value, decision and reason; they are those\n\
    of `sngp predict`. What a graph cannot say is an error.")]
pub struct Export {
    /// A model folder
    pub model: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value = "onnx", value_name = "NAME")]
    pub format: ExportFormat,
    /// The file to write [default: the model's name with .onnx]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
}

/// What a model can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// An ONNX file
    Onnx,
}

fn score(name: &str) -> Result<Score, String> {
    name.parse().map_err(|error: sngp::Error| error.to_string())
}

fn seconds(given: &str) -> Result<f64, String> {
    let seconds: f64 = given.parse().map_err(|_| "it must be a number".to_string())?;
    match std::time::Duration::try_from_secs_f64(seconds) {
        Ok(_) => Ok(seconds),
        Err(_) => Err("it must be finite and not negative".to_string()),
    }
}
