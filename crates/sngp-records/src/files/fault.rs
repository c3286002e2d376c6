//! A process that is killed at a step of its own choice, for tests.
//!
//! `SNGP_FAULT` is a list such as `no-exchange,rename:2`: the process aborts just before its
//! second rename, and behaves as on a file system that cannot exchange two folders.

/// What a process can be killed before.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// Any renaming, an exchange included.
    Rename,
    /// The removal of a folder that is no longer needed.
    Remove,
}

#[cfg(any(test, feature = "faults"))]
mod injected {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Step;

    const VARIABLE: &str = "SNGP_FAULT";

    static TAKEN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

    /// Called before each step; does not return where it is the one to be killed at.
    pub(in super::super) fn before(step: Step) {
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
    pub(in super::super) fn without_exchange() -> bool {
        asked_for("no-exchange")
    }

    fn asked_for(fault: &str) -> bool {
        let faults = std::env::var(VARIABLE).unwrap_or_default();
        faults.split(',').any(|asked| asked.trim() == fault)
    }
}

#[cfg(not(any(test, feature = "faults")))]
mod injected {
    use super::Step;

    pub(in super::super) fn before(_: Step) {}

    pub(in super::super) fn without_exchange() -> bool {
        false
    }
}

pub(super) use injected::{before, without_exchange};
