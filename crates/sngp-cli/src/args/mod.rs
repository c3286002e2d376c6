//! The arguments, as clap reads them.

mod own;
#[cfg(feature = "serve")]
mod serve;

pub use own::{
    Calibrate, Evaluate, Export, ExportFormat, KindName, Merge, PrecisionArgs, PredictiveName,
    TaskName, Train, Update,
};
#[cfg(feature = "serve")]
pub use serve::{LoadTest, LogName, Serve};

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use clap_complete::Shell;
use sngp::method::Method;
use sngp_pipeline::Reason;
use sngp_records::Format;

/// Deep classifiers that know what they don't know.
///
/// SNGP turns one network into one that is uncertain far from its training data: spectral
/// normalization keeps distances, a Gaussian-process output turns them into variance.
#[derive(Debug, Parser)]
#[command(
    name = "sngp",
    version,
    after_help = "Examples:\n  \
        sngp demo                               the main idea in under a minute\n  \
        sngp train --data rows.csv --label kind your own data to a model that abstains\n  \
        sngp evaluate rows-model --data test.csv the evidence, in one page\n  \
        sngp bench 2d --seeds 3                 every method on two plane problems\n  \
        sngp bench 2d --methods sngp,duq        some of them\n  \
        sngp bench clinc --data data            intents and sentences out of scope\n  \
        sngp bench cifar10 --data data          images, corrupted images and other images\n  \
        echo 0.5,0.2 | sngp predict demo/sngp   label, probability and uncertainty\n  \
        sngp serve rows-model                   the same over HTTP and gRPC, with a page\n  \
        sngp inspect demo/sngp                  what a model says about itself\n  \
        sngp list                               methods, backbones, data sets, metrics, scores\n\n\
        Exit codes: 0 done, 1 failed, 2 wrong arguments, 130 interrupted, 143 asked to end."
)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Debug, ClapArgs)]
pub struct Common {
    /// Device to compute on: `cpu`, or one the binary was built with (wgpu, cuda:1, metal, rocm)
    #[arg(long, global = true, default_value = "cpu", value_name = "NAME")]
    pub device: String,
    /// Threads to use [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// No progress, results only
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Results as JSON on standard output
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a deterministic network and SNGP on two moons and compare what they don't know
    Demo(Demo),
    /// Run a benchmark of the paper
    Bench {
        #[command(subcommand)]
        benchmark: Benchmark,
    },
    /// Search norm bound, length scale, ridge and factor on held-out data; write the experiment
    Tune(Tune),
    /// List methods, backbones, data sets, metrics and scores
    List,
    /// Published data sets of the benchmarks: list them, or fetch some from their publishers
    Data {
        #[command(subcommand)]
        action: Data,
    },
    /// Train on your own data: a table, texts, images, or vectors of another model
    Train(Box<Train>),
    /// Measure a model and write the evidence as one page
    Evaluate(Evaluate),
    /// Choose when a model abstains, by the risk you accept
    Calibrate(Calibrate),
    /// Predict with a saved model: label, probability, uncertainty, and whether it abstains
    Predict(Predict),
    /// Write a model for another runtime, with everything that decides in it
    Export(Export),
    /// Let a model's variance know about more examples, or forget some, without retraining
    Update(Update),
    /// Accumulate a shard's part of a model's posterior
    Precision(PrecisionArgs),
    /// Merge the parts of several shards into a model
    Merge(Merge),
    /// Serve models over HTTP and gRPC, by the Open Inference Protocol
    #[cfg(feature = "serve")]
    Serve(Box<Serve>),
    /// Ask a server as fast as it answers, and measure
    #[cfg(feature = "serve")]
    Loadtest(LoadTest),
    /// Explain a saved model: configuration, spectral norms, health of its posterior
    Inspect(Inspect),
    /// Print a completion script: sngp completions bash > /etc/bash_completion.d/sngp
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages into a folder
    Man {
        /// The folder
        #[arg(default_value = "man", value_name = "FOLDER")]
        out: PathBuf,
    },
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  sngp demo --out first-look --seed 3")]
pub struct Demo {
    /// Folder for the figure and the two models; replaced if an earlier demo wrote it
    #[arg(long, default_value = "demo", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Seed of data and networks
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
}

#[derive(Debug, Subcommand)]
pub enum Data {
    /// What can be fetched: size, licence, publisher
    List,
    /// Fetch sets into a folder as the benchmarks expect it; every file is checked against its hash
    Fetch(FetchData),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sngp data fetch clinc --out data && sngp bench clinc --data data --config clinc-frozen\n  \
    sngp data fetch cifar10 cifar100 svhn --out data\n\n\
    What is there already stays; what was interrupted goes on. Look at the licence of each set.")]
pub struct FetchData {
    /// Sets, as `sngp data list` names them
    #[arg(required = true, value_name = "NAMES")]
    pub names: Vec<String>,
    /// Folder for all sets, as `--data` of the benchmarks takes it
    #[arg(long, default_value = "data", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Another place that has the files, under the paths they get here
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Benchmark {
    /// Two moons and two ovals: uncertainty surfaces, accuracy, calibration, OOD detection
    #[command(name = "2d")]
    Plane(Plane),
    /// Intent classification with sentences out of scope, on a pretrained text encoder
    Clinc(Clinc),
    /// CIFAR-10 with corrupted images, and with SVHN and CIFAR-100 as images of no class
    Cifar10(Cifar),
    /// CIFAR-100 with corrupted images, and with SVHN and CIFAR-10 as images of no class
    Cifar100(Cifar),
}

/// What every benchmark is averaged over.
#[derive(Debug, ClapArgs)]
pub struct Seeds {
    /// How many seeds to average over
    #[arg(long = "seeds", default_value_t = 1, value_name = "N", value_parser = at_least_one)]
    pub count: usize,
    /// The first seed
    #[arg(long = "seed", default_value_t = 0, value_name = "N")]
    pub first: u64,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sngp bench 2d --seeds 3\n  \
    sngp bench 2d --methods deterministic,sngp --json\n  \
    sngp bench 2d --checkpoints runs   # stop with Ctrl-C, start again, it goes on")]
pub struct Plane {
    /// Methods to compare, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = method)]
    pub methods: Vec<Method>,
    #[command(flatten)]
    pub seeds: Seeds,
    /// Experiment file instead of the built-in experiments/2d.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder for the tables and figures
    #[arg(long, default_value = "results", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Folder for checkpoints, to go on after an interruption
    #[arg(long, value_name = "FOLDER")]
    pub checkpoints: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sngp bench clinc --data data --methods deterministic,sngp --seeds 3\n  \
    sngp bench clinc --data data --config clinc-frozen      # minutes: the encoder is not trained\n  \
    sngp bench clinc --data data --config my-experiment.toml\n\n\
    An ensemble is made of the networks of successive seeds and measured once.\n\
    The data folder holds clinc/data_full.json and models/all-MiniLM-L6-v2 (config.json,\n\
    model.safetensors, tokenizer.json); an experiment file may name others. Stop with Ctrl-C and\n\
    start again: it goes on. Finished networks are kept in --runs and never trained twice; each is\n\
    a model folder for `sngp predict --text`.")]
pub struct Clinc {
    /// Experiment: clinc-minilm, clinc-mpnet, clinc-frozen, or a file
    #[arg(long, default_value = "clinc-minilm", value_name = "NAME|FILE")]
    pub config: PathBuf,
    #[command(flatten)]
    pub trainings: Trainings,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sngp bench cifar10 --data data --seeds 3                  # all eight methods, minutes each\n  \
    sngp bench cifar10 --data data --config cifar10-cpu --methods deterministic,sngp\n  \
    sngp bench cifar10 --data data --config cifar10-resnet20  # a network that is there already\n  \
    sngp bench cifar10 --data data --config my-experiment.toml\n\n\
    Experiments: cifar10-quick and cifar100-quick (minutes a network on two cores), cifar10-cpu\n\
    and cifar100-cpu (half an hour), cifar10-paper and cifar100-paper (as published: a GPU),\n\
    cifar10-resnet20 (published weights, only the output is fitted).\n\
    The data folder holds cifar-10-batches-bin, cifar-100-binary and svhn, as their publishers lay\n\
    them out; an experiment file may name others. Stop with Ctrl-C and start again: it goes on.\n\
    Finished networks are kept in --runs and never trained twice, and neither is anything measured\n\
    twice by the same program. An ensemble is made of the networks of successive seeds and measured\n\
    once.")]
pub struct Cifar {
    /// Experiment: a built-in one by name, or a file [default: the quick one]
    #[arg(long, value_name = "NAME|FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub trainings: Trainings,
}

/// What every benchmark that trains networks takes.
#[derive(Debug, ClapArgs)]
pub struct Trainings {
    /// Folder that the experiment's paths are relative to [env: SNGP_DATA]
    #[arg(long, env = "SNGP_DATA", hide_env = true, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// Methods to compare, separated by commas [default: the experiment's, or the paper's eight]
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = method)]
    pub methods: Vec<Method>,
    #[command(flatten)]
    pub seeds: Seeds,
    /// Folder for the tables
    #[arg(long, default_value = "results", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Folder for trained networks and checkpoints
    #[arg(long, default_value = "runs", value_name = "FOLDER")]
    pub runs: PathBuf,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sngp tune cifar10-quick --data data --bounds 1,2,6 --length-scales 0.5,2,8\n  \
    sngp tune clinc-frozen --data data --length-scales 100,400,1600\n  \
    sngp bench cifar10 --data data --config cifar10-quick-tuned.toml   # with what was found\n\n\
    First every bound is tried and the smallest that keeps the accuracy is taken, then every length\n\
    scale under it, and the one with the least negative log-likelihood is taken. The experiment's own\n\
    values are tried too. Each takes a training; stop with Ctrl-C and start again: it goes on.")]
pub struct Tune {
    /// Experiment: a built-in one by name, or a file
    #[arg(value_name = "NAME|FILE")]
    pub config: PathBuf,
    /// Folder that the experiment's paths are relative to [env: SNGP_DATA]
    #[arg(long, env = "SNGP_DATA", hide_env = true, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// The method to tune
    #[arg(long, default_value = "sngp", value_name = "NAME", value_parser = method)]
    pub method: Method,
    /// Norm bounds to try, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", value_parser = positive)]
    pub bounds: Vec<f64>,
    /// Length scales to try
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", value_parser = positive)]
    pub length_scales: Vec<f64>,
    /// Ridges to choose from for each network [default: the experiment's]
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", value_parser = positive)]
    pub ridges: Vec<f64>,
    /// Mean-field factors to choose from for each network [default: the experiment's]
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", value_parser = not_negative)]
    pub factors: Vec<f64>,
    /// How much held-out accuracy a smaller bound may cost
    #[arg(long, default_value_t = 0.005, value_name = "SHARE", value_parser = not_negative)]
    pub tolerance: f64,
    /// Seed of the networks
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// The experiment file to write [default: NAME-tuned.toml]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Folder for trained networks and checkpoints
    #[arg(long, default_value = "runs", value_name = "FOLDER")]
    pub runs: PathBuf,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = predict_help())]
pub struct Predict {
    /// A model folder
    pub model: PathBuf,
    /// A sentence, for models that take text; may be given several times
    #[arg(long, value_name = "SENTENCE", conflicts_with = "data")]
    pub text: Vec<String>,
    /// Rows with the columns of the training (.csv .tsv .jsonl .parquet .npy .npz .safetensors), a
    /// folder of images, or sentences one a line (.txt). `-` reads standard input
    #[arg(long, default_value = "-", value_name = "FILE")]
    pub data: PathBuf,
    /// File for the answers, by its ending .csv, .jsonl or .parquet [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Format of standard input and output: csv, tsv, jsonl, parquet
    #[arg(long, value_name = "NAME")]
    pub format: Option<Format>,
    /// Stop at the first row that cannot be used, instead of saying so in its place
    #[arg(long)]
    pub strict: bool,
    /// Add the probabilities of all classes, a column each
    #[arg(long)]
    pub probabilities: bool,
    /// Add the N most probable classes with their probabilities
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub top_k: Option<usize>,
    /// Flag rows as out-of-distribution so that on average at most this share of the flagged ones is
    /// not (Benjamini-Hochberg over all rows, which are read twice); adds the column `flagged`
    #[arg(long, value_name = "SHARE")]
    pub fdr: Option<f64>,
}

fn predict_help() -> String {
    let reasons = Reason::ALL.map(|(code, meaning)| format!("  {code:16} {meaning}")).join("\n");
    format!(
        "Every row comes back with its own columns and these: predicted, probability (or low and \
         high of a number's interval), uncertainty, decision (accept or abstain), reason.\n\n\
         Reasons to abstain:\n{reasons}\n\nExamples:\n  \
         echo 0.5,0.2 | sngp predict demo/sngp\n  \
         sngp predict demo/sngp --data points.csv > predictions.csv\n  \
         sngp predict intents-model --data new.csv --out answers.parquet\n  \
         sngp predict intents-model --data new.csv --fdr 0.1 --out flagged.csv\n  \
         cat new.jsonl | sngp predict intents-model --format jsonl\n  \
         sngp predict runs/clinc-minilm/sngp-0 --text 'what is my balance' --text 'who won in 1998'\n  \
         sngp predict runs/clinc-minilm/sngp-0 --data sentences.txt --json"
    )
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  sngp demo && sngp inspect demo/sngp")]
pub struct Inspect {
    /// A model folder
    pub model: PathBuf,
}

fn method(name: &str) -> Result<Method, String> {
    name.parse().map_err(|error: sngp::Error| error.to_string())
}

fn positive(text: &str) -> Result<f64, String> {
    not_negative(text).and_then(|number| match number > 0.0 {
        true => Ok(number),
        false => Err("it must be positive".to_string()),
    })
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        Ok(_) => Err("it must be finite and not negative".to_string()),
        Err(error) => Err(error.to_string()),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_string()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}
