//! A process that is killed at a step of its own choice, for tests.
//!
//! `SNGP_FAULT` is a list such as `no-exchange,rename:2`: the process aborts just before its
//! second rename, and behaves as on a file system that cannot exchange two folders. It is there in
//! every build, so that the binary that is tested is the one that is shipped; whoever can set a
//! process's variables can end it anyway.

use std::sync::atomic::{AtomicUsize, Ordering};

const VARIABLE: &str = "SNGP_FAULT";

/// How many of each step have been taken.
static TAKEN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// What a process can be killed before.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// Any renaming, an exchange included.
    Rename,
    /// The removal of a folder that is no longer needed.
    Remove,
}

/// Called before each step; does not return where it is the one to be killed at.
pub(super) fn before(step: Step) {
    let (index, name) = match step {
        Step::Rename => (0, "rename"),
        Step::Remove => (1, "remove"),
    };
    let count = TAKEN[index].fetch_add(1, Ordering::SeqCst) + 1;
    if asked_for(&format!("{name}:{count}")) {
        std::process::abort();
    }
}

/// Whether to do as if folders could not be exchanged.
pub(super) fn without_exchange() -> bool {
    asked_for("no-exchange")
}

fn asked_for(fault: &str) -> bool {
    let faults = std::env::var(VARIABLE).unwrap_or_default();
    faults.split(',').any(|asked| asked.trim() == fault)
}
