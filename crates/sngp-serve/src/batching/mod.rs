//! Between requests and the model: a bounded queue, and threads that answer it in batches.
//!
//! Rows are counted, not requests. A batch takes rows of as many requests as fit; what does not
//! fit of a long request waits behind the others, so that a short one is not held up by it.

mod groups;
mod queue;
mod worker;

use std::time::Duration;

pub use queue::{Queue, Ticket};
pub use worker::start;

/// How much waits, and how much is answered together.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Rows of a batch.
    pub max_batch: usize,
    /// Tokens of a batch, about; for texts.
    pub max_tokens: usize,
    /// How long a batch that is not full waits for more rows.
    pub max_delay: Duration,
    /// Rows that wait at most.
    pub queue_rows: usize,
    /// Threads that take batches, for each model.
    pub replicas: usize,
    /// Threads that compute a batch, for each replica.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_batch: 64,
            max_tokens: 8192,
            max_delay: Duration::ZERO,
            queue_rows: 4096,
            replicas: 1,
            threads: rayon::current_num_threads(),
        }
    }
}
