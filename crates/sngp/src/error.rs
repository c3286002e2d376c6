//! One error type for the whole library.
//!
//! Every message names the thing, the value and, where there is one, the way out.

use std::path::PathBuf;

/// The library's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, told so that the reader knows what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that no registry knows.
    #[error("unknown {kind} `{name}`; known: {known}")]
    Unknown {
        /// What was looked for, e.g. `method`.
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// The names that would have worked, comma-separated.
        known: String,
    },

    /// A configuration value outside its range.
    #[error("{what} is {value}, but {rule}")]
    Config {
        /// The option.
        what: &'static str,
        /// What it was set to.
        value: String,
        /// What it has to be.
        rule: String,
    },

    /// Data that cannot be used.
    #[error("{0}")]
    Data(String),

    /// Two sizes that have to agree and do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was measured.
        what: String,
        /// What it has to be.
        expected: String,
        /// What it is.
        found: String,
    },

    /// A matrix that should be positive definite and is not.
    #[error("{what} is not positive definite (pivot {pivot} of {size}): {hint}")]
    NotPositiveDefinite {
        /// Which matrix.
        what: &'static str,
        /// The first pivot that failed.
        pivot: usize,
        /// Rows of the matrix.
        size: usize,
        /// The likely cause and the way out.
        hint: &'static str,
    },

    /// Sums of different feature maps or likelihoods cannot be added.
    #[error("cannot merge precisions: {0}")]
    Merge(String),

    /// Something a method or a likelihood does not provide.
    #[error("{0}")]
    Unsupported(String),

    /// A file that is not what it claims to be.
    #[error("{path}: {reason}")]
    Corrupt {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// An output folder that exists and was not written by us.
    #[error("{0} exists and is not an sngp folder; choose another name or remove it")]
    NotOurs(PathBuf),

    /// Training was stopped on request; the last checkpoint is kept.
    #[error("stopped: {reason}; {}", kept(.checkpoint))]
    Interrupted {
        /// Why.
        reason: String,
        /// The epoch of the last checkpoint, where checkpoints are kept.
        checkpoint: Option<usize>,
    },

    /// Training failed.
    #[error("training failed: {0}")]
    Training(String),

    /// A file that could not be read or written.
    #[error(transparent)]
    Records(#[from] sngp_records::RecordsError),

    /// The operating system refused.
    #[error("{path}: {cause}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said; part of the message, so not a source that would repeat it.
        cause: std::io::Error,
    },
}

/// What an interruption leaves behind.
fn kept(checkpoint: &Option<usize>) -> String {
    match checkpoint {
        Some(epoch) => {
            format!("the checkpoint of epoch {epoch} is kept, the same command goes on from it")
        }
        None => "there is no checkpoint to go on from".to_string(),
    }
}

impl Error {
    /// An I/O error that names the path it happened on.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |cause| Self::Io { path, cause }
    }

    /// A configuration error.
    pub fn config(what: &'static str, value: impl ToString, rule: impl Into<String>) -> Self {
        Self::Config { what, value: value.to_string(), rule: rule.into() }
    }

    /// A shape error.
    pub fn shape(what: impl Into<String>, expected: impl ToString, found: impl ToString) -> Self {
        Self::Shape { what: what.into(), expected: expected.to_string(), found: found.to_string() }
    }

    /// A damaged or foreign file.
    pub fn corrupt(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::Corrupt { path: path.into(), reason: reason.into() }
    }
}
