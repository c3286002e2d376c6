use std::path::PathBuf;

use super::dtype::Layout;
use crate::error::{RecordsError, Result};

/// The array that is being read, for messages.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) name: String,
}

impl Place {
    pub(super) fn damaged(&self, offset: u64, cause: impl ToString) -> RecordsError {
        let (path, name) = (self.path.clone(), self.name.clone());
        RecordsError::DamagedArray { path, name, offset, cause: cause.to_string() }
    }

    pub(super) fn unusable(&self, found: impl Into<String>, way_out: &'static str) -> RecordsError {
        let (path, name) = (self.path.clone(), self.name.clone());
        RecordsError::UnusableArray { path, name, found: found.into(), way_out }
    }

    /// Refuses an array whose rows do not lie in one piece.
    pub(super) fn check_order(&self, layout: &Layout) -> Result<()> {
        if layout.is_column_major() {
            let way_out = "save it row by row, with numpy.ascontiguousarray";
            return Err(self.unusable("it is stored column by column (Fortran order)", way_out));
        }
        Ok(())
    }

    pub(super) fn bad_label(
        &self,
        index: usize,
        found: impl Into<String>,
        expected: &'static str,
    ) -> RecordsError {
        let (path, name) = (self.path.clone(), self.name.clone());
        RecordsError::BadLabel { path, name, row: index + 1, found: found.into(), expected }
    }
}
