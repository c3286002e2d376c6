//! Computing while other threads of Python run.

use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sngp::train::Interrupter;

use crate::errors::exception;

/// How long Ctrl-C may wait to be noticed.
const POLL: Duration = Duration::from_millis(50);

/// Computes without the interpreter.
pub fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> sngp::Result<T> + Send,
) -> PyResult<T> {
    check_process()?;
    py.detach(work).map_err(exception)
}

/// The same for what may take long: Ctrl-C stops it. Python tells its main thread of signals only
/// when asked, so that thread waits and asks while another one computes.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Interrupter) -> sngp::Result<T> + Send,
) -> PyResult<T> {
    check_process()?;
    let interrupter = Interrupter::new();
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = Waiting { thread: thread::current(), ended: &ended };
        let handle = scope.spawn(|| {
            let _told = waiting;
            work(&interrupter)
        });
        let mut raised = None;
        while !ended.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(POLL));
            if raised.is_none()
                && let Err(error) = py.check_signals()
            {
                interrupter.stop(Some("interrupted"));
                raised = Some(error);
            }
        }
        match (handle.join(), raised) {
            (_, Some(error)) => Err(error),
            (Ok(result), None) => result.map_err(exception),
            (Err(_), None) => Err(PyRuntimeError::new_err("the computation panicked")),
        }
    })
}

/// Tells the waiting thread that the work has ended, however it did.
struct Waiting<'a> {
    thread: Thread,
    ended: &'a AtomicBool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// A process that was forked has none of the threads that compute: it would wait for ever.
fn check_process() -> PyResult<()> {
    static FIRST: OnceLock<u32> = OnceLock::new();
    if *FIRST.get_or_init(process::id) == process::id() {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "sngp was used before this process was forked, and its threads are gone; start processes \
         by `spawn` or `forkserver`: multiprocessing.set_start_method(\"spawn\")",
    ))
}
