//! Running the binary.
#![allow(dead_code)] // Each test file uses its own part.

pub mod desk;

use std::path::PathBuf;
use std::process::{Command, Output};

/// An experiment that takes a second.
pub const SMALL: &str = "
[backbone]
depth = 2
width = 16
[model.gaussian_process.features]
count = 64
[model.exact_gp]
length_scale = 0.2
[model.training]
epochs = 3
[methods.deep_ensemble.method]
members = 2
";

/// The binary under test.
pub fn sngp() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sngp"))
}

/// Runs it and checks its exit code.
pub fn run(command: &mut Command, code: i32) -> Output {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    output
}

/// Output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes an experiment file.
pub fn experiment(folder: &tempfile::TempDir, content: &str) -> PathBuf {
    let path = folder.path().join("experiment.toml");
    std::fs::write(&path, content).unwrap();
    path
}

/// The means of a report, in its order.
pub fn rows(json: &[u8]) -> Vec<f64> {
    let report: serde_json::Value = serde_json::from_slice(json).unwrap();
    let rows = report["rows"].as_array().unwrap();
    rows.iter().map(|row| row["mean"].as_f64().unwrap()).collect()
}
