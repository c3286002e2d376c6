use std::fs::File;
use std::sync::Arc;

use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

/// Whether a column's dictionary claims more values than it has bytes. Readers make room for as many
/// values as it claims, before they look whether they are there: gigabytes, in a file of kilobytes.
///
/// Only the headers of pages are read, and the dictionaries. Other damage is left to the reader, which
/// comes to it later and says where it is.
pub(super) fn are_inflated(
    file: &Arc<File>,
    metadata: &ParquetMetaData,
    is_used: impl Fn(usize) -> bool,
) -> bool {
    metadata.row_groups().iter().any(|group| {
        let columns = group.columns().iter().enumerate().filter(|(leaf, _)| is_used(*leaf));
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        columns.map(|(_, column)| column).any(|column| {
            let pages = SerializedPageReader::new(file.clone(), column, rows, None);
            pages.is_ok_and(is_inflated)
        })
    })
}

fn is_inflated(mut pages: SerializedPageReader<File>) -> bool {
    while let Ok(Some(next)) = pages.peek_next_page() {
        if !next.is_dict {
            if pages.skip_next_page().is_err() {
                return false;
            }
            continue;
        }
        match pages.get_next_page() {
            Ok(Some(Page::DictionaryPage { buf, num_values, .. })) => {
                // A value of no bytes still has its length.
                if num_values as usize > buf.len() {
                    return true;
                }
            }
            _ => return false,
        }
    }
    false
}
