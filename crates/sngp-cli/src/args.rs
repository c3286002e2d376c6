//! The arguments, as clap reads them.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use sngp::method::Method;

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
        sngp bench 2d --seeds 3                 every method on two plane problems\n  \
        sngp bench 2d --methods sngp,duq        some of them\n  \
        echo 0.5,0.2 | sngp predict demo/sngp   label, probability and uncertainty\n  \
        sngp inspect demo/sngp                  what a model says about itself\n  \
        sngp list                               methods, backbones, data sets, metrics, scores\n\n\
        Exit codes: 0 done, 1 failed, 2 wrong arguments, 130 interrupted."
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
    /// List methods, backbones, data sets, metrics and scores
    List,
    /// Predict rows of numbers with a saved model: label, probability and uncertainty
    Predict(Predict),
    /// Explain a saved model: configuration, spectral norms, health of its posterior
    Inspect(Inspect),
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
pub enum Benchmark {
    /// Two moons and two ovals: uncertainty surfaces, accuracy, calibration, OOD detection
    #[command(name = "2d")]
    Plane(Plane),
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
    /// How many seeds to average over
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = at_least_one)]
    pub seeds: usize,
    /// The first seed
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Experiment file instead of the built-in experiments/2d.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder for the tables and figures
    #[arg(long, default_value = "docs/results", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Folder for checkpoints, to go on after an interruption
    #[arg(long, value_name = "FOLDER")]
    pub checkpoints: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    echo 0.5,0.2 | sngp predict demo/sngp\n  \
    sngp predict demo/sngp --data points.csv > predictions.csv")]
pub struct Predict {
    /// A model folder
    pub model: PathBuf,
    /// Comma-separated numbers, one example a row, with or without a header; `-` reads standard
    /// input
    #[arg(long, default_value = "-", value_name = "FILE")]
    pub data: PathBuf,
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

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_string()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}
