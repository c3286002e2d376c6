use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use sngp_pipeline::{Answer, Detail, Signature};

use super::Answers;
use crate::batching::Queue;
use crate::error::{Result, ServeError};
use crate::ops::monitor::Monitor;
use crate::rows::{Intake, Rows};

/// A model in service, as it was loaded.
pub struct Loaded {
    /// The model.
    pub model: Box<dyn Answers>,
    /// What goes in and what comes out.
    pub signature: Signature,
    /// How requests become rows.
    pub intake: Intake,
    /// What became of recent traffic.
    pub monitor: Monitor,
}

impl Loaded {
    /// Takes a model into service.
    pub fn new(model: Box<dyn Answers>) -> Self {
        let signature = model.signature();
        let monitor = Monitor::new(model.reference(), model.threshold());
        Self { intake: Intake::new(&signature), signature, monitor, model }
    }
}

/// A name that requests ask for, with the model that answers now and the queue before it.
pub struct Served {
    /// The name.
    pub name: String,
    /// Where it was loaded from.
    pub folder: PathBuf,
    /// Rows that wait.
    pub queue: Arc<Queue>,
    current: RwLock<Arc<Loaded>>,
}

impl Served {
    pub(crate) fn new(name: String, folder: PathBuf, loaded: Loaded, queue: Arc<Queue>) -> Self {
        Self { name, folder, queue, current: RwLock::new(Arc::new(loaded)) }
    }

    /// The model that answers now. Who has it keeps it, whatever is loaded meanwhile.
    pub fn current(&self) -> Arc<Loaded> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes another model into service. Rows in the queue are answered by the old one, whose
    /// signature they were read by.
    pub(crate) fn replace(&self, loaded: Loaded) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
    }

    /// The answers to rows that were read for `loaded`, before the deadline or not at all.
    ///
    /// The deadline is a timer of its own: it does not wait for the model. If the caller goes away
    /// or the deadline passes, the rows leave the queue.
    pub async fn answer(
        &self,
        loaded: &Arc<Loaded>,
        rows: Rows,
        detail: Detail,
        deadline: Instant,
    ) -> Result<Vec<Answer>> {
        let (_ticket, answers) = self.queue.push(loaded.clone(), rows, detail)?;
        match tokio::time::timeout_at(deadline.into(), answers).await {
            Err(_) => Err(ServeError::Deadline),
            Ok(Ok(answers)) => answers,
            Ok(Err(_)) => Err(ServeError::Internal("the model's thread has ended".to_string())),
        }
    }
}
