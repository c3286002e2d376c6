//! Trained networks on disk, so that a second start trains nothing twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sngp::files::write_whole;
use sngp::train::{EpochSummary, Observer};
use sngp::{Error, Result};

/// The attached file that says how a network was trained.
pub(super) const TRAINING: &str = "training.json";

/// How a network was trained: what it depends on, how long it took, and its learning curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Training {
    pub fingerprint: String,
    /// What it was settled by afterwards.
    pub tuning: String,
    pub seconds: f64,
    pub epochs: Vec<Epoch>,
}

/// The losses of an epoch. A training that was interrupted has those of its last run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Epoch {
    pub epoch: usize,
    pub loss: f64,
    pub validation_loss: Option<f64>,
    pub seconds: f64,
}

impl Training {
    /// What is attached to a saved model.
    pub fn parse(folder: &Path, bytes: Option<&[u8]>) -> Result<Self> {
        let path = folder.join(TRAINING);
        let bytes = bytes.ok_or_else(|| Error::corrupt(&path, "there is none"))?;
        serde_json::from_slice(bytes).map_err(|error| Error::corrupt(path, error.to_string()))
    }

    pub fn json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec_pretty(self).map_err(|error| Error::Data(error.to_string()))
    }

    /// Refuses a network of another configuration or other data.
    pub fn check(&self, folder: &Path, fingerprint: &str) -> Result<()> {
        if self.fingerprint == fingerprint {
            return Ok(());
        }
        let reason = "it is of another configuration or other data; remove it to train anew, or \
                      choose another folder";
        Err(Error::corrupt(folder, reason))
    }
}

/// Where the networks of a benchmark are kept.
pub(super) fn network_folder(runs: &Path, method: &str, seed: u64) -> PathBuf {
    runs.join(format!("{method}-{seed}"))
}

/// What was measured of a method with one seed.
pub(super) fn measured_file(runs: &Path, method: &str, seed: u64) -> PathBuf {
    runs.join(format!("{method}-{seed}.measured.json"))
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it was measured on.
    pub split: String,
    /// The metric.
    pub metric: String,
    /// Its value.
    pub value: f64,
}

/// Everything that was measured of a method with one seed. It is kept, so that a second start
/// gives the same table, latencies included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// A hash of everything it depends on, this program included.
    pub(super) fingerprint: String,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Plots as the insides of SVG images, by name.
    pub plots: BTreeMap<String, String>,
}

impl Measured {
    /// Adds a figure.
    pub fn add(&mut self, split: &str, metric: &str, value: f64) {
        self.figures.push(Figure { split: split.to_string(), metric: metric.to_string(), value });
    }

    /// What is kept, where it is of the same networks and program; otherwise it is measured anew.
    pub(super) fn read(path: &Path, fingerprint: &str) -> Option<Self> {
        let found: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (found.fingerprint == fingerprint).then_some(found)
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_vec(self).map_err(|error| Error::Data(error.to_string()))?;
        write_whole(path, &text)
    }
}

/// Keeps the learning curve on its way to another observer.
pub(super) struct Curve {
    pub inner: Box<dyn Observer>,
    pub epochs: Arc<Mutex<Vec<Epoch>>>,
    pub started: Instant,
}

impl Observer for Curve {
    fn start(&mut self, first_epoch: usize, epochs: usize) {
        self.inner.start(first_epoch, epochs);
    }

    fn examples(&mut self, done: usize, of: usize) {
        self.inner.examples(done, of);
    }

    fn epoch(&mut self, summary: EpochSummary) {
        let EpochSummary { epoch, loss, validation_loss, .. } = summary;
        let seconds = self.started.elapsed().as_secs_f64();
        let mut epochs = self.epochs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        epochs.push(Epoch { epoch, loss, validation_loss, seconds });
        drop(epochs);
        self.inner.epoch(summary);
    }

    fn finish(&mut self) {
        self.inner.finish();
    }
}
