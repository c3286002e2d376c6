use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use sngp_pipeline::{Answer, Detail};

use super::Limits;
use super::groups::groups;
use super::queue::{Piece, Queue};
use crate::error::{Result, ServeError};
use crate::model::Loaded;
use crate::rows::Rows;

/// Starts the threads that answer a queue.
///
/// Each is a worker of a pool of its own, so that it computes itself instead of waking another
/// thread, and waits without keeping anybody else from computing.
pub fn start(queue: &Arc<Queue>, limits: &Limits) -> io::Result<()> {
    for replica in 0..limits.replicas.max(1) {
        let (queue, threads) = (queue.clone(), limits.threads.max(1));
        let work = move || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
            // Without a pool of its own it computes in the common one: slower, not wrong.
            let _pool = pool.build();
            while let Some(batch) = queue.take() {
                answer_batch(&queue, &batch);
            }
        };
        thread::Builder::new().name(format!("model-{replica}")).spawn(work)?;
    }
    Ok(())
}

/// Answers a batch. A panic fails it and nothing else; an error is tried for each request alone,
/// so that one does not fail another.
fn answer_batch(queue: &Queue, batch: &[Piece]) {
    if batch.is_empty() {
        return;
    }
    let started = Instant::now();
    let rows: usize = batch.iter().map(|piece| piece.range.len()).sum();
    let attempt = catch_unwind(AssertUnwindSafe(|| answers(batch)));
    queue.metrics.batch_rows.observe(rows as f64);
    queue.metrics.computed.observe(started.elapsed().as_secs_f64());
    match attempt {
        Ok(Ok(mut answers)) => {
            for piece in batch {
                let rest = answers.split_off(piece.range.len());
                piece.request.loaded.monitor.record(&answers);
                queue.metrics.answered(&answers, &piece.request.loaded.monitor);
                piece.answered(std::mem::replace(&mut answers, rest));
            }
        }
        Ok(Err(error)) if batch.len() == 1 => batch[0].failed(&error),
        Ok(Err(_)) => {
            batch.iter().for_each(|piece| answer_batch(queue, std::slice::from_ref(piece)))
        }
        Err(_) => {
            queue.metrics.panics.inc();
            let error = ServeError::Internal("the model failed on this batch".to_string());
            batch.iter().for_each(|piece| piece.failed(&error));
        }
    }
}

/// The answers to all rows of a batch, in their order.
fn answers(batch: &[Piece]) -> Result<Vec<Answer>> {
    let Some((first, others)) = batch.split_first() else { return Ok(Vec::new()) };
    let mut rows = first.request.rows.slice(first.range.clone());
    for piece in others {
        rows.append(piece.request.rows.slice(piece.range.clone()));
    }
    let all = batch.iter().map(|piece| piece.request.detail);
    let detail = all.fold(Detail::default(), |one, other| Detail {
        probabilities: one.probabilities || other.probabilities,
        logits: one.logits || other.logits,
    });
    let lengths: Vec<usize> = batch.iter().flat_map(|piece| piece.tokens()).copied().collect();
    let groups = groups(&lengths);
    let loaded = &first.request.loaded;
    if groups.len() == 1 {
        return group_answers(loaded, rows, detail);
    }
    let mut found: Vec<Option<Answer>> = vec![None; lengths.len()];
    for group in groups {
        let answers = group_answers(loaded, rows.select(&group), detail)?;
        group.into_iter().zip(answers).for_each(|(row, answer)| found[row] = Some(answer));
    }
    let whole: Option<Vec<Answer>> = found.into_iter().collect();
    whole.ok_or_else(|| ServeError::Internal("an answer was lost on its way".to_string()))
}

fn group_answers(loaded: &Loaded, rows: Rows, detail: Detail) -> Result<Vec<Answer>> {
    let (set, refused) = rows.into_dataset(loaded.intake.names())?;
    let asked = set.rows();
    let answered = if asked == 0 {
        Vec::new()
    } else {
        loaded.model.answer(&set, detail).map_err(|error| match error {
            sngp::Error::Data(_) | sngp::Error::Shape { .. } => {
                ServeError::Invalid(error.to_string())
            }
            other => ServeError::Internal(other.to_string()),
        })?
    };
    if answered.len() != asked {
        let found = answered.len();
        return Err(ServeError::Internal(format!("{found} answers to {asked} rows")));
    }
    let mut answered = answered.into_iter();
    let answers = refused.into_iter().map(|refused| refused.or_else(|| answered.next()));
    let answers: Option<Vec<Answer>> = answers.collect();
    answers.ok_or_else(|| ServeError::Internal("an answer was lost on its way".to_string()))
}
