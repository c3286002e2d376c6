//! Checkpoints a killed training can go on from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use burn::lr_scheduler::LrSchedulerRecord;
use burn::optim::OptimizerRecord;
use burn::store::ModuleRecord;
use burn::train::checkpoint::{
    Checkpoint, Checkpointer, CheckpointerError, CheckpointingAction, CheckpointingStrategy,
};
use burn::train::metric::store::{Aggregate, EventStoreClient, Split};
use serde::{Deserialize, Serialize};

use super::precision_tap::PrecisionTap;
use crate::files::{read_json, write_json, write_whole};
use crate::hash::sha256;
use crate::posterior::{Precision, load_precisions, save_precisions};
use crate::{Error, Result};

/// The file that marks a folder as ours and says which training it belongs to.
const RUN: &str = "run.json";
const HISTORY: &str = "history.json";
/// Two, so that a kill in the middle of writing one leaves the other.
const KEEP: usize = 2;

/// A folder of checkpoints. A training that finds one of its own there goes on from it.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    directory: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Run {
    fingerprint: String,
}

/// The losses of the epochs so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct History {
    epochs: Vec<(usize, Option<f64>)>,
}

impl History {
    fn record(&mut self, epoch: usize, loss: Option<f64>) {
        self.epochs.retain(|(other, _)| *other < epoch);
        self.epochs.push((epoch, loss));
    }

    /// The epoch with the lowest validation loss; the earliest of equals.
    pub fn best(&self) -> Option<usize> {
        let known = self.epochs.iter().filter_map(|(epoch, loss)| Some((*epoch, (*loss)?)));
        let known = known.filter(|(_, loss)| loss.is_finite());
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(epoch, _)| epoch)
    }
}

impl Checkpoints {
    /// A folder, created when the training starts.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The checkpoints of one member of an ensemble.
    pub fn member(&self, index: usize) -> Self {
        Self::new(self.directory.join(format!("member-{index}")))
    }

    /// The folder.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the folder ours, or checks that it belongs to the same training.
    pub(crate) fn claim(&self, fingerprint: &str) -> Result<()> {
        let (directory, run) = (&self.directory, self.directory.join(RUN));
        fs::create_dir_all(directory).map_err(Error::io(directory))?;
        if run.exists() {
            let found: Run = read_json(&run)?;
            if found.fingerprint != fingerprint {
                let reason = "its checkpoints are of another configuration or other data; \
                              remove it to start anew, or choose another folder";
                return Err(Error::corrupt(directory, reason));
            }
            return Ok(());
        }
        if fs::read_dir(directory).map_err(Error::io(directory))?.next().is_some() {
            return Err(Error::NotOurs(directory.clone()));
        }
        write_json(&run, &Run { fingerprint: fingerprint.to_string() })
    }

    fn path(&self, name: &str, epoch: usize) -> PathBuf {
        self.directory.join(format!("{name}-{epoch}.bpk"))
    }

    fn precision_path(&self, epoch: usize) -> PathBuf {
        self.directory.join(format!("precision-{epoch}.safetensors"))
    }

    /// The last epoch, at most `limit`, whose checkpoint is whole and readable.
    pub(super) fn latest(&self, limit: usize, with_precision: bool) -> Option<usize> {
        let intact = |epoch: usize| {
            let records = ["model", "optim", "scheduler"].map(|name| self.path(name, epoch));
            let precision = with_precision.then(|| self.precision_path(epoch));
            records.iter().chain(&precision).all(|path| is_sealed(path))
        };
        let readable = |epoch: usize| {
            // A flipped bit would still load, and train on to another network.
            intact(epoch)
                && ModuleRecord::load(self.path("model", epoch)).is_ok()
                && OptimizerRecord::load(self.path("optim", epoch)).is_ok()
                && LrSchedulerRecord::load(self.path("scheduler", epoch)).is_ok()
                && (!with_precision || self.precision(epoch).is_ok())
        };
        let mut epochs: Vec<usize> = fs::read_dir(&self.directory)
            .ok()?
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                name.strip_prefix("model-")?.strip_suffix(".bpk")?.parse().ok()
            })
            .filter(|epoch| *epoch <= limit)
            .collect();
        epochs.sort_unstable();
        epochs.into_iter().rev().find(|epoch| readable(*epoch))
    }

    /// The history up to an epoch.
    pub(super) fn history(&self, epoch: usize) -> Result<History> {
        let path = self.directory.join(HISTORY);
        let mut history: History =
            if path.exists() { read_json(&path)? } else { History::default() };
        history.epochs.retain(|(other, _)| *other <= epoch);
        Ok(history)
    }

    /// The network's weights at an epoch.
    pub(super) fn model(&self, epoch: usize) -> Result<ModuleRecord> {
        let path = self.path("model", epoch);
        ModuleRecord::load(&path).map_err(|error| Error::corrupt(path, error.to_string()))
    }

    pub(super) fn precision(&self, epoch: usize) -> Result<Precision> {
        let path = self.precision_path(epoch);
        let missing = || Error::corrupt(&path, "it holds no precision");
        load_precisions(&path)?.pop().ok_or_else(missing)
    }

    pub(super) fn checkpointer(&self, name: &'static str) -> AtomicCheckpointer {
        AtomicCheckpointer { checkpoints: self.clone(), name }
    }
}

/// The file beside a checkpoint that has its SHA-256.
fn seal_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sha256");
    name.into()
}

/// Writes the hash of what is in `file` and will be at `path`.
fn seal(file: &Path, path: &Path) -> Result<()> {
    let bytes = fs::read(file).map_err(Error::io(file))?;
    write_whole(&seal_of(path), sha256(&bytes).as_bytes())
}

fn is_sealed(path: &Path) -> bool {
    let (bytes, seal) = (fs::read(path), fs::read_to_string(seal_of(path)));
    bytes.is_ok_and(|bytes| seal.is_ok_and(|seal| seal == sha256(&bytes)))
}

/// Writes a record under a temporary name and renames it, so that a kill leaves no half file.
pub(super) struct AtomicCheckpointer {
    checkpoints: Checkpoints,
    name: &'static str,
}

impl<R: Checkpoint> Checkpointer<R> for AtomicCheckpointer {
    fn save(&self, epoch: usize, record: R) -> Result<(), CheckpointerError> {
        let path = self.checkpoints.path(self.name, epoch);
        let part = self.checkpoints.directory.join(format!("part-{}-{epoch}.bpk", self.name));
        let failed = |error: &dyn std::fmt::Display| {
            let path = path.display();
            CheckpointerError::Unknown(format!("{path}: {error}; is the disk full?"))
        };
        record.save(part.clone()).map_err(|error| failed(&error))?;
        // The hash first: a kill in between leaves a hash without a file, not a file without one.
        seal(&part, &path).map_err(|error| failed(&error))?;
        fs::rename(&part, &path).map_err(|error| failed(&error))
    }

    fn delete(&self, epoch: usize) -> Result<(), CheckpointerError> {
        let path = self.checkpoints.path(self.name, epoch);
        for path in [seal_of(&path), path] {
            if path.exists() {
                fs::remove_file(path).map_err(CheckpointerError::IOError)?;
            }
        }
        Ok(())
    }

    fn restore(&self, epoch: usize) -> Result<R, CheckpointerError> {
        R::load(self.checkpoints.path(self.name, epoch))
    }
}

/// Decides at the end of every epoch what is saved and what goes. It runs on the training thread
/// before the next step, so what it writes itself belongs to exactly this epoch.
pub(super) struct EpochKeeper {
    pub checkpoints: Checkpoints,
    pub history: Arc<Mutex<History>>,
    pub tap: Option<PrecisionTap>,
    pub keep_best: bool,
    pub interrupter: burn::train::Interrupter,
    pub saved: Vec<usize>,
    /// The epochs of earlier runs.
    pub done: usize,
}

impl EpochKeeper {
    fn write(&self, epoch: usize) -> Result<()> {
        let history = self.history.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        write_json(&self.checkpoints.directory.join(HISTORY), &*history)?;
        match &self.tap {
            Some(tap) => {
                let path = self.checkpoints.precision_path(epoch);
                save_precisions(&path, &[tap.snapshot()])?;
                seal(&path, &path)
            }
            None => Ok(()),
        }
    }
}

impl CheckpointingStrategy for EpochKeeper {
    fn checkpointing(
        &mut self,
        epoch: usize,
        store: &EventStoreClient,
    ) -> Vec<CheckpointingAction> {
        // Burn's logger in memory counts the epochs of this run, not those it resumed from.
        let logged = epoch - self.done;
        let loss = store.find_metric("Loss", logged, Aggregate::Mean, &Split::Valid);
        let best = {
            let mut history = self.history.lock().unwrap_or_else(|p| p.into_inner());
            history.record(epoch, loss);
            if self.keep_best { history.best() } else { None }
        };
        if let Err(error) = self.write(epoch) {
            self.interrupter.stop(Some(&format!("the checkpoint cannot be written: {error}")));
            return Vec::new();
        }
        self.saved.push(epoch);
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut self.saved)
            .into_iter()
            .partition(|&other| other + KEEP > epoch || Some(other) == best);
        self.saved = kept;
        for &other in &gone {
            // A leftover costs disk space and nothing else.
            let precision = self.checkpoints.precision_path(other);
            let _ = fs::remove_file(seal_of(&precision));
            let _ = fs::remove_file(precision);
        }
        std::iter::once(CheckpointingAction::Save)
            .chain(gone.into_iter().map(CheckpointingAction::Delete))
            .collect()
    }
}
