use std::fs;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Float64Array, Int64Array,
    LargeStringArray, StringArray, StringViewArray, UInt8Array,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::super::super::testing::Scratch;
use super::super::super::text_set::TextSet;
use super::super::{read_table, read_texts};
use super::*;

fn bytes_with(columns: Vec<(&str, ArrayRef)>, properties: WriterProperties) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn bytes(text: ArrayRef, label: ArrayRef) -> Vec<u8> {
    bytes_with(vec![("text", text), ("label", label)], WriterProperties::default())
}

fn read_bytes(bytes: &[u8]) -> Result<TextSet> {
    read_table(&Scratch::file("a.parquet", bytes).path, "text", "label")
}

fn message(text: ArrayRef, label: ArrayRef) -> String {
    read_bytes(&bytes(text, label)).unwrap_err().to_string()
}

fn words() -> ArrayRef {
    Arc::new(StringArray::from(vec!["a", "", "é"]))
}

#[test]
fn every_string_type_is_read() {
    let values = vec!["a", "", "é"];
    let arrays: [ArrayRef; 5] = [
        words(),
        Arc::new(LargeStringArray::from(values.clone())),
        Arc::new(StringViewArray::from(values.clone())),
        Arc::new(DictionaryArray::<Int8Type>::from_iter(values.clone())),
        Arc::new(DictionaryArray::<Int32Type>::from_iter(values.clone())),
    ];
    for array in arrays {
        let kind = array.data_type().clone();
        let set = read_bytes(&bytes(array.clone(), array)).unwrap();
        assert_eq!(set.texts, values, "{kind}");
        assert_eq!(set.labels, values, "{kind}");
    }
}

#[test]
fn labels_may_be_integers_and_booleans() {
    let arrays: [(ArrayRef, [&str; 3]); 3] = [
        (Arc::new(Int64Array::from(vec![-1, 0, i64::MAX])), ["-1", "0", "9223372036854775807"]),
        (Arc::new(UInt8Array::from(vec![7, 200, 255])), ["7", "200", "255"]),
        (Arc::new(BooleanArray::from(vec![true, false, true])), ["true", "false", "true"]),
    ];
    for (array, expected) in arrays {
        assert_eq!(read_bytes(&bytes(words(), array)).unwrap().labels, expected);
    }
}

#[test]
fn every_compression_is_read() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
    ] {
        let properties = WriterProperties::builder().set_compression(compression).build();
        let bytes = bytes_with(vec![("text", words())], properties);
        let file = Scratch::file("a.parquet", bytes);
        assert_eq!(read_texts(&file.path, "text").unwrap(), ["a", "", "é"]);
    }
}

#[test]
fn nulls_are_placed_by_row_across_batches() {
    let mut values = vec![Some("x"); 3000];
    values[2500] = None;
    let holed: ArrayRef = Arc::new(StringArray::from(values));
    let full: ArrayRef = Arc::new(StringArray::from(vec!["x"; 3000]));
    let text_message = message(holed.clone(), full.clone());
    assert!(text_message.contains("a.parquet, row 2501: \"text\" is null"), "{text_message}");
    let label_message = message(full, holed);
    assert!(label_message.contains("a.parquet, row 2501: \"label\" is null"), "{label_message}");
}

#[test]
fn unusable_types_are_named() {
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]));
    let found = message(words(), numbers);
    let expected = "\"label\" has type Float64 but must hold strings, integers or booleans";
    assert!(found.contains(expected), "{found}");
    let integers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    assert!(message(integers, words()).contains("\"text\" has type Int64 but must hold strings;"));
    let binary: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\xff"[..], b"", b""]));
    assert!(message(binary, words()).contains("\"text\" has type Binary but must hold strings;"));
}

#[test]
fn missing_column_is_named_with_those_present() {
    let bytes = bytes_with(vec![("text", words()), ("intent", words())], Default::default());
    let found = read_bytes(&bytes).unwrap_err().to_string();
    let expected = "a.parquet has no column \"label\"; its columns are [\"text\", \"intent\"]";
    assert!(found.ends_with(expected), "{found}");
}

#[test]
fn no_rows_are_refused() {
    let none: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
    let error = read_bytes(&bytes(none.clone(), none)).unwrap_err();
    assert!(matches!(error, DatasetError::Empty { .. }), "{error}");
}

#[test]
fn invalid_utf8_is_placed_by_row() {
    for dictionary in [true, false] {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(dictionary)
            .set_max_row_group_row_count(Some(1200))
            .build();
        let mut values = vec!["fine"; 3000];
        values[2700] = "QZQZ";
        let good: ArrayRef = Arc::new(StringArray::from(vec!["x"; 3000]));
        let bad: ArrayRef = Arc::new(StringArray::from(values));
        for columns in [[("text", &good), ("label", &bad)], [("label", &good), ("text", &bad)]] {
            let columns = columns.map(|(name, array)| (name, array.clone())).to_vec();
            let mut bytes = bytes_with(columns, properties.clone());
            overwrite(&mut bytes, b"QZQZ", b"\xff\xfe\xff\xfe");
            let found = read_bytes(&bytes).unwrap_err().to_string();
            assert!(found.contains("a.parquet, row 2701: not valid UTF-8"), "{found}");
        }
    }
}

fn overwrite(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    for at in 0..=bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + from.len()].copy_from_slice(to);
        }
    }
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let whole = bytes(words(), words());
    let file = Scratch::file("a.parquet", "");
    for length in 0..whole.len() {
        fs::write(&file.path, &whole[..length]).unwrap();
        let found = read_table(&file.path, "text", "label").unwrap_err().to_string();
        assert!(found.contains("a.parquet: cannot read Parquet from row 1"), "{found}");
    }
    for at in 0..whole.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff, whole[at] ^ 1, whole[at].wrapping_add(1)] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            fs::write(&file.path, &damaged).unwrap();
            if let Err(error) = read_table(&file.path, "text", "label") {
                assert!(error.to_string().contains("a.parquet"), "{error}");
            }
        }
    }
}
