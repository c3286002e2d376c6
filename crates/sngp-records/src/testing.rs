use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::cell::{Cell, Row};
use crate::error::Result;
use crate::records::Records;

/// A file in a folder of its own, both removed on drop.
pub(super) struct Scratch {
    _folder: TempDir,
    pub(super) path: PathBuf,
}

impl Scratch {
    pub(super) fn file(name: &str, contents: impl AsRef<[u8]>) -> Self {
        let scratch = Self::name(name);
        fs::write(&scratch.path, contents).unwrap();
        scratch
    }

    /// A name under which nothing is stored yet.
    pub(super) fn name(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        Self { _folder: folder, path }
    }
}

pub(super) fn strings(values: &[&str]) -> Vec<String> {
    values.iter().map(|&value| value.to_owned()).collect()
}

pub(super) fn read_all(records: &mut Records) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    while let Some(chunk) = records.next_chunk(7)? {
        assert!(chunk.first_row == rows.len() && (1..=7).contains(&chunk.rows.len()));
        rows.extend(chunk.rows);
    }
    Ok(rows)
}

/// A row as a delimited file gives it.
pub(super) fn texts(fields: &[&str]) -> Row {
    Row::Cells(fields.iter().map(|field| Cell::from_field(field)).collect())
}

pub(super) fn bad(row: &Row) -> (&str, &[String]) {
    match row {
        Row::Bad { reason, raw } => (reason, raw),
        Row::Cells(cells) => panic!("a good row: {cells:?}"),
    }
}
