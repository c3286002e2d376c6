//! Tables, arrays and pictures.

use std::io::Cursor;

use sngp_records::image::Picture;
use sngp_records::{Arrays, Format, Header, ReadOptions, Records};

use crate::with_file;

/// Rows read at a time: few, so that several chunks are.
const CHUNK: usize = 16;

/// Reads a table to its end.
fn table(format: Format, header: Header, data: &[u8]) {
    let options = ReadOptions { format: Some(format), header, keep_originals: true };
    let Ok(mut records) = Records::from_reader_with("fuzzed", options, Cursor::new(data.to_vec()))
    else {
        return;
    };
    let columns = records.columns().len();
    while let Ok(Some(chunk)) = records.next_chunk(CHUNK) {
        assert!(!chunk.rows.is_empty() || columns == 0);
    }
}

/// Comma- and tab-separated tables, with and without a header; plain lines; gzip of them.
pub fn delimited(data: &[u8]) {
    let columns = || vec!["a".to_string(), "b".to_string()];
    table(Format::Csv, Header::Named, data);
    table(Format::Csv, Header::Auto { columns: columns() }, data);
    table(Format::Tsv, Header::None { columns: columns() }, data);
    table(Format::Lines, Header::None { columns: vec!["text".to_string()] }, data);
}

/// Lines of JSON objects.
pub fn json_lines(data: &[u8]) {
    table(Format::JsonLines, Header::Named, data);
}

/// Parquet files.
#[cfg(feature = "parquet")]
pub fn parquet(data: &[u8]) {
    table(Format::Parquet, Header::Named, data);
}

/// Reads every array of a file in every way.
fn arrays(name: &str, data: &[u8]) {
    with_file(name, data, |path| {
        let Ok(arrays) = Arrays::open(path) else { return };
        for name in arrays.names() {
            let _ = arrays.info(name);
            let _ = arrays.ints(name);
            let _ = arrays.strings(name);
            if let Ok(bytes) = arrays.bytes(name) {
                drop(bytes);
            }
            if let Ok(matrix) = arrays.view2(name) {
                let mut rows = Vec::new();
                matrix.read_rows(0, matrix.rows().min(CHUNK), &mut rows);
                assert_eq!(rows.len(), matrix.rows().min(CHUNK) * matrix.columns());
            }
        }
    });
}

/// NumPy arrays.
pub fn npy(data: &[u8]) {
    arrays("fuzzed.npy", data);
}

/// Archives of NumPy arrays.
pub fn npz(data: &[u8]) {
    arrays("fuzzed.npz", data);
}

/// Files of tensors.
pub fn safetensors(data: &[u8]) {
    arrays("fuzzed.safetensors", data);
}

/// PNG and JPEG files.
pub fn picture(data: &[u8]) {
    if let Ok(picture) = Picture::from_bytes(data) {
        assert_eq!(picture.square(4).len(), 48);
    }
}
