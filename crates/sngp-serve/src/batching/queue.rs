use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sngp_pipeline::{Answer, Detail};
use tokio::sync::oneshot;

use super::Limits;
use crate::error::{Result, ServeError};
use crate::model::Loaded;
use crate::ops::metrics::ModelMetrics;
use crate::rows::Rows;

type Reply = oneshot::Sender<Result<Vec<Answer>>>;

/// Rows that wait for a model, of which there is a bound.
pub struct Queue {
    limits: Limits,
    state: Mutex<State>,
    arrived: Condvar,
    pub(super) metrics: ModelMetrics,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Rows of all jobs that no batch has taken.
    rows: usize,
    next: u64,
    closed: bool,
}

/// A request in the queue, or what is left of it.
struct Job {
    number: u64,
    request: Arc<Pending>,
    /// Rows that no batch has taken.
    left: Range<usize>,
    since: Instant,
}

/// A request until it is answered. Batches fill in answers in any order.
pub(super) struct Pending {
    pub loaded: Arc<Loaded>,
    pub rows: Rows,
    tokens: Vec<usize>,
    pub detail: Detail,
    answers: Mutex<Option<Collected>>,
}

struct Collected {
    answers: Vec<Option<Answer>>,
    missing: usize,
    reply: Reply,
}

/// Some rows of a request, in a batch.
pub(super) struct Piece {
    pub request: Arc<Pending>,
    pub range: Range<usize>,
}

impl Piece {
    pub fn tokens(&self) -> &[usize] {
        &self.request.tokens[self.range.clone()]
    }

    /// Gives the answers to these rows; the last piece completes the request.
    pub fn answered(&self, answers: Vec<Answer>) {
        let mut slot = lock(&self.request.answers);
        let Some(collected) = slot.as_mut() else { return };
        collected.missing -= self.range.len();
        let places = collected.answers[self.range.clone()].iter_mut();
        places.zip(answers).for_each(|(place, answer)| *place = Some(answer));
        if collected.missing == 0
            && let Some(Collected { answers, reply, .. }) = slot.take()
        {
            let whole: Option<Vec<Answer>> = answers.into_iter().collect();
            let lost = || ServeError::Internal("an answer was lost on its way".to_string());
            // A client that has gone does not want it any more.
            let _ = reply.send(whole.ok_or_else(lost));
        }
    }

    /// Fails the whole request.
    pub fn failed(&self, error: &ServeError) {
        if let Some(collected) = lock(&self.request.answers).take() {
            let _ = collected.reply.send(Err(error.clone()));
        }
    }

    fn is_wanted(&self) -> bool {
        self.request.is_wanted()
    }
}

impl Pending {
    fn is_wanted(&self) -> bool {
        lock(&self.answers).as_ref().is_some_and(|collected| !collected.reply.is_closed())
    }
}

/// A place in the queue: given up, the rows leave it.
pub struct Ticket {
    queue: Arc<Queue>,
    number: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        if let Some(place) = state.jobs.iter().position(|job| job.number == self.number) {
            let left = state.jobs.remove(place).map_or(0, |job| job.left.len());
            state.rows -= left;
            self.queue.metrics.queued_rows.set(state.rows as i64);
        }
    }
}

impl Queue {
    /// An empty queue.
    pub fn new(limits: Limits, metrics: ModelMetrics) -> Arc<Self> {
        let (state, arrived) = (Mutex::default(), Condvar::new());
        Arc::new(Self { limits, state, arrived, metrics })
    }

    /// Puts rows at the end; refuses where there are too many already. A request that is longer
    /// than the queue is taken when nothing else waits.
    pub fn push(
        self: &Arc<Self>,
        loaded: Arc<Loaded>,
        rows: Rows,
        detail: Detail,
    ) -> Result<(Ticket, oneshot::Receiver<Result<Vec<Answer>>>)> {
        let (reply, answers) = oneshot::channel();
        let count = rows.len();
        let collected = Collected { answers: vec![None; count], missing: count, reply };
        let tokens = rows.tokens();
        let answered = Mutex::new(Some(collected));
        let request = Arc::new(Pending { loaded, rows, tokens, detail, answers: answered });
        let mut state = lock(&self.state);
        if state.closed {
            return Err(ServeError::Closing);
        }
        if state.rows > 0 && state.rows + count > self.limits.queue_rows {
            return Err(ServeError::Overloaded { retry_after: 1 });
        }
        let number = state.next;
        state.next += 1;
        state.rows += count;
        state.jobs.push_back(Job { number, request, left: 0..count, since: Instant::now() });
        self.metrics.queued_rows.set(state.rows as i64);
        drop(state);
        self.arrived.notify_one();
        Ok((Ticket { queue: self.clone(), number }, answers))
    }

    /// Takes no more rows; what is in the queue is answered.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.arrived.notify_all();
    }

    /// Rows that wait.
    pub fn waiting(&self) -> usize {
        lock(&self.state).rows
    }

    /// The next batch, as soon as there is one; nothing when the queue is closed and empty.
    pub(super) fn take(&self) -> Option<Vec<Piece>> {
        let mut state = lock(&self.state);
        loop {
            state.jobs.retain(|job| job.request.is_wanted());
            state.rows = state.jobs.iter().map(|job| job.left.len()).sum();
            match state.jobs.front() {
                None if state.closed => return None,
                None => state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(first) => {
                    let waited = first.since.elapsed();
                    let enough = state.rows >= self.limits.max_batch || state.closed;
                    if enough || waited >= self.limits.max_delay {
                        break;
                    }
                    let more = self.limits.max_delay - waited;
                    let woken = self.arrived.wait_timeout(state, more);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        let batch = self.fill(&mut state);
        self.metrics.queued_rows.set(state.rows as i64);
        let more = !state.jobs.is_empty();
        drop(state);
        if more {
            // Another replica may go on with what is left.
            self.arrived.notify_one();
        }
        Some(batch)
    }

    /// Rows of the first requests, of one model, up to the size of a batch.
    fn fill(&self, state: &mut State) -> Vec<Piece> {
        let (mut rows, mut tokens) = (self.limits.max_batch.max(1), self.limits.max_tokens);
        let mut batch: Vec<Piece> = Vec::new();
        let mut unfinished = Vec::new();
        let mut later = VecDeque::new();
        while let Some(mut job) = state.jobs.pop_front() {
            let same = batch
                .first()
                .is_none_or(|piece| Arc::ptr_eq(&piece.request.loaded, &job.request.loaded));
            if rows == 0 || !same {
                later.push_back(job);
                continue;
            }
            let mut taken = 0;
            for cost in &job.request.tokens[job.left.clone()] {
                // The first row is taken, however long it is.
                let fits = taken < rows && (*cost <= tokens || (batch.is_empty() && taken == 0));
                if !fits {
                    break;
                }
                tokens = tokens.saturating_sub(*cost);
                taken += 1;
            }
            let range = job.left.start..job.left.start + taken;
            if taken > 0 {
                self.metrics.waited.observe(job.since.elapsed().as_secs_f64());
                batch.push(Piece { request: job.request.clone(), range: range.clone() });
                (rows, state.rows) = (rows - taken, state.rows - taken);
            }
            job.left.start = range.end;
            match (job.left.is_empty(), taken) {
                (true, _) => {}
                (false, 0) => {
                    // No token is left in this batch.
                    rows = 0;
                    later.push_back(job);
                }
                (false, _) => unfinished.push(job),
            }
        }
        later.extend(unfinished);
        state.jobs = later;
        debug_assert!(batch.iter().all(|piece| !piece.range.is_empty()));
        batch.retain(Piece::is_wanted);
        batch
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
