use std::fs;
use std::sync::Arc;

use arrow_array::types::{Float32Type, Int32Type, Int64Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    Float64Array, Int64Array, LargeStringArray, ListArray, NullArray, RecordBatch, StringArray,
    StringViewArray, StructArray, TimestampMillisecondArray, UInt8Array, UInt64Array,
};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::*;
use crate::cell::Cell;
use crate::format::Format;
use crate::records::Records;
use crate::testing::{Scratch, read_all};

fn bytes_with(columns: Vec<(&str, ArrayRef)>, properties: WriterProperties) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn bytes(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    bytes_with(columns, WriterProperties::default())
}

fn open(bytes: &[u8]) -> Result<Records> {
    Records::open(&Scratch::file("a.parquet", bytes).path)
}

fn column(array: ArrayRef) -> Vec<Cell> {
    let rows = read_all(&mut open(&bytes(vec![("x", array)])).unwrap()).unwrap();
    let first = |row| match row {
        Row::Cells(cells) => cells.into_iter().next().unwrap(),
        Row::Bad { reason, .. } => panic!("{reason}"),
    };
    rows.into_iter().map(first).collect()
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[test]
fn every_string_type_is_text() {
    let values = vec![Some("a"), None, Some(""), Some("é"), Some("NA")];
    let expected = [text("a"), Cell::Missing, text(""), text("é"), text("NA")];
    let arrays: [ArrayRef; 4] = [
        Arc::new(StringArray::from(values.clone())),
        Arc::new(LargeStringArray::from(values.clone())),
        Arc::new(StringViewArray::from(values.clone())),
        Arc::new(DictionaryArray::<Int32Type>::from_iter(values.clone())),
    ];
    for array in arrays {
        assert_eq!(column(array), expected);
    }
}

#[test]
fn numbers_and_booleans_keep_their_values() {
    let number = Cell::Number;
    let floats = Float64Array::from(vec![Some(1.5), None, Some(f64::NAN), Some(f64::INFINITY)]);
    let expected = [number(1.5), Cell::Missing, Cell::Missing, number(f64::INFINITY)];
    assert_eq!(column(Arc::new(floats)), expected);
    let signed = Int64Array::from(vec![-7, i64::MAX]);
    assert_eq!(column(Arc::new(signed)), [number(-7.0), text("9223372036854775807")]);
    assert_eq!(column(Arc::new(UInt8Array::from(vec![200]))), [number(200.0)]);
    let unsigned = column(Arc::new(UInt64Array::from(vec![u64::MAX])));
    assert_eq!(unsigned, [text("18446744073709551615")]);
    let decimal = Decimal128Array::from(vec![1234]).with_precision_and_scale(6, 2).unwrap();
    assert_eq!(column(Arc::new(decimal)), [number(12.34)]);
    let booleans = column(Arc::new(BooleanArray::from(vec![Some(true), None])));
    assert_eq!(booleans, [Cell::Bool(true), Cell::Missing]);
    assert_eq!(column(Arc::new(NullArray::new(2))), [Cell::Missing, Cell::Missing]);
}

#[test]
fn lists_of_numbers_are_lists() {
    let floats = vec![Some(vec![Some(1.0), Some(-0.5)]), None, Some(vec![])];
    let floats = ListArray::from_iter_primitive::<Float32Type, _, _>(floats);
    let expected = [Cell::List(vec![1.0, -0.5]), Cell::Missing, Cell::List(vec![])];
    assert_eq!(column(Arc::new(floats)), expected);
    let integers = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(3), None])]);
    let cells = column(Arc::new(integers));
    assert!(matches!(&cells[0], Cell::List(list) if list[0] == 3.0 && list[1].is_nan()));
}

#[test]
fn dates_and_times_are_text() {
    assert_eq!(column(Arc::new(Date32Array::from(vec![19_000]))), [text("2022-01-08")]);
    let time = TimestampMillisecondArray::from(vec![Some(1_600_000_000_500), None]);
    let expected = [text("2020-09-13T12:26:40.500"), Cell::Missing];
    assert_eq!(column(Arc::new(time.clone())), expected);
    let zoned = column(Arc::new(time.with_timezone("+02:00")));
    assert_eq!(zoned, [text("2020-09-13T12:26:40.500Z"), Cell::Missing]);
}

#[test]
fn other_types_are_reported_and_do_not_stop_the_rest() {
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let fields = vec![(Arc::new(Field::new("i", DataType::Int64, true)), inner.clone())];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("s", Arc::new(StructArray::from(fields))),
        ("n", inner),
        ("b", Arc::new(BinaryArray::from(vec![&b"\xff"[..], b""]))),
    ];
    let mut records = open(&bytes(columns)).unwrap();
    let rows = read_all(&mut records).unwrap();
    let Row::Cells(cells) = &rows[1] else { panic!("{:?}", rows[1]) };
    assert_eq!(cells[1..], [Cell::Number(2.0), text("unsupported type Binary")]);
    assert!(matches!(&cells[0], Cell::Text(text) if text.starts_with("unsupported type Struct")));
    let warnings = records.warnings();
    assert_eq!(warnings.len(), 2);
    assert!(warnings[1].contains("column \"b\" has the unsupported type Binary"), "{warnings:?}");
}

#[test]
fn streams_are_read_by_way_of_a_temporary_file() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3000));
    let stream = std::io::Cursor::new(bytes(vec![("x", numbers)]));
    let mut records = Records::from_reader("pipe", Format::Parquet, stream).unwrap();
    let rows = read_all(&mut records).unwrap();
    assert_eq!((rows.len(), &rows[2999]), (3000, &Row::Cells(vec![Cell::Number(2999.0)])));
}

#[test]
fn files_without_rows_or_with_unclear_names_are_refused() {
    let none: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let error = open(&bytes(vec![("x", none.clone())])).err().unwrap();
    assert!(matches!(error, RecordsError::NoRows { .. }), "{error}");
    let error = open(&bytes(vec![("x", none.clone()), ("x", none)])).err().unwrap();
    assert!(matches!(error, RecordsError::RepeatedColumn { .. }), "{error}");
    let error = open(b"").err().unwrap().to_string();
    assert!(error.contains("a.parquet: cannot read Parquet from row 1 on"), "{error}");
}

#[test]
fn invalid_utf8_is_placed_by_row_and_column() {
    let mut values = vec!["fine"; 3000];
    values[2700] = "QZQZ";
    let good: ArrayRef = Arc::new(StringArray::from(vec!["x"; 3000]));
    let text: ArrayRef = Arc::new(StringArray::from(values));
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1200)).build();
    let mut bytes = bytes_with(vec![("id", good), ("text", text)], properties);
    for at in 0..bytes.len() - 4 {
        if bytes[at..].starts_with(b"QZQZ") {
            bytes[at..at + 4].copy_from_slice(b"\xff\xfe\xff\xfe");
        }
    }
    let error = read_all(&mut open(&bytes).unwrap()).unwrap_err().to_string();
    assert!(error.contains("row 2701: column 2 (\"text\") is not valid UTF-8"), "{error}");
}

#[test]
fn a_page_that_claims_gigabytes_is_refused_before_there_is_room_for_it() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..300));
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::SNAPPY)
        .build();
    let mut file = bytes_with(vec![("x", numbers)], properties);
    assert_eq!(read_all(&mut open(&file).unwrap()).unwrap().len(), 300);
    // The header behind the file's four letters: the type, then 2,400 bytes of numbers and a few of levels,
    // folded to twice as many.
    assert_eq!(file[4..7], [0x15, 0x00, 0x15]);
    let folded = usize::from(file[7] & 0x7f) | usize::from(file[8]) << 7;
    assert!((4800..4840).contains(&folded), "{folded}");
    // 2,000,000,000 bytes, folded to twice as many.
    file.splice(7..9, [0x80, 0xd0, 0xac, 0xf3, 0x0e]);
    let error = open(&file).err().unwrap().to_string();
    assert!(error.contains("a page claims to be larger than its file can explain"), "{error}");
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("é")]));
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]));
    let whole = bytes(vec![("w", words), ("n", numbers)]);
    let file = Scratch::file("a.parquet", "");
    let read = |bytes: &[u8]| {
        fs::write(&file.path, bytes).unwrap();
        Records::open(&file.path).and_then(|mut records| read_all(&mut records))
    };
    for length in 0..whole.len() {
        let found = read(&whole[..length]).unwrap_err().to_string();
        assert!(found.contains("a.parquet: cannot read Parquet from row 1"), "{found}");
    }
    for at in 0..whole.len() {
        for byte in [0, 0xff, whole[at] ^ 1] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            if let Err(error) = read(&damaged) {
                assert!(error.to_string().contains("a.parquet"), "{error}");
            }
        }
    }
}
