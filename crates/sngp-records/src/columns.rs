use std::collections::HashSet;
use std::path::Path;

use crate::error::{RecordsError, Result};

/// More columns than this are taken for a mistake: rows and columns swapped, or no line ends.
pub(super) const MAX_COLUMNS: usize = 100_000;

/// A message lists this many names.
pub(super) const MAX_LISTED: usize = 20;

/// Refuses columns that cannot be told apart by name.
pub(super) fn check_names(path: &Path, names: &[String]) -> Result<()> {
    let path = || path.to_owned();
    if names.is_empty() {
        return Err(RecordsError::NoColumns { path: path() });
    }
    if names.len() > MAX_COLUMNS {
        return Err(RecordsError::TooManyColumns { path: path(), limit: MAX_COLUMNS });
    }
    if let Some(index) = names.iter().position(|name| name.trim().is_empty()) {
        return Err(RecordsError::UnnamedColumn { path: path(), column: index + 1 });
    }
    let mut seen = HashSet::with_capacity(names.len());
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(RecordsError::RepeatedColumn { path: path(), column: name.clone() }),
        None => Ok(()),
    }
}

/// The names for a message, not all where they are many.
pub(super) fn listed(names: &[String]) -> String {
    match names.len().checked_sub(MAX_LISTED) {
        None | Some(0) => format!("{names:?}"),
        Some(more) => format!("{:?} and {more} more", &names[..MAX_LISTED]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::strings;

    #[test]
    fn names_must_be_there_and_differ() {
        let message =
            |names: &[&str]| check_names("a".as_ref(), &strings(names)).unwrap_err().to_string();
        assert!(check_names("a".as_ref(), &strings(&["x", "X", " x"])).is_ok());
        assert!(message(&[]).contains("a has no columns"));
        assert!(message(&["x", " ", "y"]).contains("a: column 2 has no name"));
        assert!(message(&["x", "y", "x"]).contains("a has several columns named \"x\""));
    }
}
