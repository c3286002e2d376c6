//! Stopping when the validation loss no longer falls.

use std::sync::{Arc, Mutex};

use burn::train::EarlyStoppingStrategy;
use burn::train::metric::store::EventStoreClient;

use super::checkpoint::History;

/// Waits for `patience` epochs without improvement. It looks at the recorded history, which is
/// saved with the checkpoints, so a resumed training stops where an uninterrupted one would.
#[derive(Clone)]
pub(super) struct Patience {
    pub patience: usize,
    pub history: Arc<Mutex<History>>,
}

impl EarlyStoppingStrategy for Patience {
    fn should_stop(&mut self, epoch: usize, _: &EventStoreClient) -> bool {
        let history = self.history.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        history.best().is_some_and(|best| epoch >= best + self.patience)
    }
}
