use std::fs::File;
use std::str;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::ByteArrayType;
use parquet::file::reader::{FileReader, SerializedFileReader};

/// The first data row, from 1, whose value in a string column is not UTF-8.
///
/// The Arrow reader checks many values at once and does not say which one failed, so this goes
/// through the raw bytes again. `None` where no such row can be found or the file is damaged.
pub(super) fn first_invalid_row(file: File, column: usize) -> Option<usize> {
    let reader = SerializedFileReader::new(file).ok()?;
    let mut rows_before = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).ok()?;
        let ColumnReader::ByteArrayColumnReader(values) = group.get_column_reader(column).ok()?
        else {
            return None;
        };
        if let Some(row) = first_invalid_in(values)? {
            return Some(rows_before + row);
        }
        rows_before += usize::try_from(group.metadata().num_rows()).ok()?;
    }
    None
}

/// `None` where the values cannot be read, `Some(None)` where all of them are UTF-8.
fn first_invalid_in(mut reader: ColumnReaderImpl<ByteArrayType>) -> Option<Option<usize>> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    for row in 1.. {
        levels.clear();
        values.clear();
        let (records, ..) = reader.read_records(1, Some(&mut levels), None, &mut values).ok()?;
        if records == 0 {
            break;
        }
        if values.iter().any(|value| str::from_utf8(value.data()).is_err()) {
            return Some(Some(row));
        }
    }
    Some(None)
}
