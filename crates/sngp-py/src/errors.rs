//! Our errors as the exceptions that scikit-learn's users expect.

use std::io;

use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use sngp::Error;
use sngp_records::RecordsError;

/// The exception of an error: what is wrong with values is a `ValueError`, what the system
/// refused an `OSError` of its kind.
pub fn exception(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Io { cause, .. } => system(cause.kind(), message),
        Error::Records(RecordsError::Io { cause, .. }) => system(cause.kind(), message),
        Error::Interrupted { .. } => PyKeyboardInterrupt::new_err(message),
        Error::Training(_) => PyRuntimeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// `FileNotFoundError` and its like.
fn system(kind: io::ErrorKind, message: String) -> PyErr {
    match kind {
        io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::NotADirectory => io::Error::new(kind, message).into(),
        _ => PyOSError::new_err(message),
    }
}
