use std::path::Path;

use crate::cell::{Cell, Row};
use crate::columns::check_names;
use crate::error::{RecordsError, Result};
use crate::source::Source;

/// A table of cells.
pub(crate) struct MemoryTable {
    columns: Vec<String>,
    rows: std::vec::IntoIter<Vec<Cell>>,
}

impl MemoryTable {
    pub(crate) fn new(path: &Path, columns: Vec<String>, rows: Vec<Vec<Cell>>) -> Result<Self> {
        check_names(path, &columns)?;
        let (path, expected) = (path.to_owned(), columns.len());
        if rows.is_empty() {
            return Err(RecordsError::NoRows { path });
        }
        match rows.iter().position(|row| row.len() != expected) {
            None => Ok(Self { columns, rows: rows.into_iter() }),
            Some(index) => {
                let (row, found) = (index + 1, rows[index].len());
                Err(RecordsError::RowLength { path, row, expected, found })
            }
        }
    }
}

impl Source for MemoryTable {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        Ok(self.rows.next().map(Row::Cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Records;

    #[test]
    fn rows_have_to_fit() {
        let open = |rows| Records::from_cells(vec!["x".to_owned()], rows).err().unwrap();
        assert!(matches!(open(vec![]), RecordsError::NoRows { .. }));
        let ragged = open(vec![vec![Cell::Missing], vec![]]).to_string();
        assert_eq!(ragged, "memory, row 2: 0 cells where there are 1 columns");
        let nameless = Records::from_cells(vec![], vec![vec![]]).err().unwrap();
        assert!(matches!(nameless, RecordsError::NoColumns { .. }));
    }
}
