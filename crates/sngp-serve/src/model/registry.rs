use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::{Load, Loaded, Served};
use crate::batching::{Limits, Queue};
use crate::error::{Result, ServeError};
use crate::ops::log::Log;
use crate::ops::metrics::Metrics;
use crate::protocol::shown;

/// The only version that a model has: a folder that was replaced is the same model, newer.
pub const VERSION: &str = "1";

/// The models in service, by name.
pub struct Registry {
    models: Vec<Arc<Served>>,
    load: Load,
}

impl Registry {
    /// Loads folders and starts the threads that answer. All of them, or an error.
    pub fn start(
        folders: &[(String, PathBuf)],
        load: Load,
        limits: &Limits,
        metrics: &Arc<Metrics>,
    ) -> sngp::Result<Self> {
        let mut models = Vec::new();
        for (name, folder) in folders {
            let loaded = Loaded::new(load(folder)?);
            let queue = Queue::new(limits.clone(), metrics.model(name));
            let threads = crate::batching::start(&queue, limits);
            threads.map_err(sngp::Error::io(folder))?;
            models.push(Arc::new(Served::new(name.clone(), folder.clone(), loaded, queue)));
        }
        Ok(Self { models, load })
    }

    /// All of them.
    pub fn all(&self) -> &[Arc<Served>] {
        &self.models
    }

    /// The one of a name, and of a version where one is asked for.
    pub fn get(&self, name: &str, version: Option<&str>) -> Result<&Arc<Served>> {
        let served = self.models.iter().find(|served| served.name == name);
        let served =
            served.ok_or_else(|| ServeError::NotFound(format!("model `{}`", shown(name))))?;
        match version.filter(|version| !version.is_empty() && *version != VERSION) {
            None => Ok(served),
            Some(version) => {
                let (name, version) = (shown(name), shown(version));
                Err(ServeError::NotFound(format!("version `{version}` of model `{name}`")))
            }
        }
    }

    /// Reads folders anew, all or those that `changed` says; where one is broken, the old model
    /// stays.
    pub fn reload(&self, log: &Log, changed: impl Fn(&Served) -> bool) {
        for served in self.models.iter().filter(|served| changed(served)) {
            match (self.load)(&served.folder) {
                Ok(model) => {
                    served.replace(Loaded::new(model));
                    log.event("model replaced", &[("model", &served.name)]);
                }
                Err(error) => {
                    let error = error.to_string();
                    let about = [("model", served.name.as_str()), ("error", &error)];
                    log.event("model not replaced: the old one stays", &about);
                }
            }
        }
    }

    /// When each folder was last written, to see whether it was replaced.
    pub fn written(&self) -> Vec<Option<SystemTime>> {
        self.models.iter().map(|served| written(&served.folder)).collect()
    }

    /// Ends the threads when their queues are empty.
    pub fn close(&self) {
        self.models.iter().for_each(|served| served.queue.close());
    }
}

/// A folder is replaced whole, manifest and all.
fn written(folder: &Path) -> Option<SystemTime> {
    std::fs::metadata(folder.join("manifest.json")).and_then(|meta| meta.modified()).ok()
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.close();
    }
}
