use std::fs;

use super::*;
use crate::options::ReadOptions;
use crate::records::Records;
use crate::testing::Scratch;

/// What is in a file after a table of another has been written to it with a column beside.
fn copied(contents: &str, from: &str, to: &str) -> String {
    let input = Scratch::file(from, contents);
    let output = Scratch::name(to);
    copy(&input, &output, 1000);
    fs::read_to_string(&output.path).unwrap()
}

fn copy(input: &Scratch, output: &Scratch, chunk_rows: usize) {
    let options = ReadOptions { keep_originals: true, ..ReadOptions::default() };
    let mut records = Records::open_with(&input.path, options).unwrap();
    let columns = [records.columns(), &["n".to_owned()]].concat();
    let format = Format::of_path(&output.path).unwrap();
    let mut writer = Writer::create(&output.path, format, &columns).unwrap();
    while let Some(chunk) = records.next_chunk(chunk_rows).unwrap() {
        let number = |row| vec![Cell::Number((chunk.first_row + row) as f64)];
        let beside: Vec<_> = (0..chunk.rows.len()).map(number).collect();
        writer.write_beside(&chunk, &beside).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn delimited_fields_stay_as_they_are() {
    let table = "id,x,y\n007,1e400,NA\n 1 ,?,\n,null,\"a,b\"\n";
    let expected = "id,x,y,n\n007,1e400,NA,0\n 1 ,?,,1\n,null,\"a,b\",2\n";
    assert_eq!(copied(table, "a.csv", "b.csv"), expected);
    assert_eq!(copied(table, "a.csv", "b.tsv"), expected.replace(',', "\t").replace("a\tb", "a,b"));
    assert_eq!(copied("a,b\n1\nNA,2\n", "a.csv", "b.csv"), "a,b,n\n1,,0\nNA,2,1\n");
}

#[test]
fn what_is_kept_belongs_to_its_chunk() {
    let rows: String = (0..7).map(|row| format!("{row},{}\n", ["NA", "x", "?"][row % 3])).collect();
    let (input, output) = (Scratch::file("a.csv", format!("i,t\n{rows}")), Scratch::name("b.csv"));
    copy(&input, &output, 2);
    let expected: String =
        rows.lines().enumerate().map(|(n, row)| format!("{row},{n}\n")).collect();
    assert_eq!(fs::read_to_string(&output.path).unwrap(), format!("i,t,n\n{expected}"));
}

#[test]
fn a_key_of_the_answer_stands_in_no_line_twice() {
    for key in [r#""n""#, r#""\u006e""#] {
        let table = format!("{}{{\"a\": 2, {key}: \"old\"}}\n", "{\"a\": \"n\"}\n".repeat(120));
        let lines = copied(&table, "a.jsonl", "b.jsonl");
        assert_eq!(lines.lines().next(), Some("{\"a\": \"n\",\"n\":0}"));
        assert_eq!(lines.lines().last(), Some("{\"a\":2,\"n\":120}"));
    }
}

#[test]
fn objects_stay_as_they_are() {
    let table = "{\"b\": 1.0, \"a\": {\"c\": [1, \"x\"]}}\n\n{ \"id\":18446744073709551615 }\n";
    let expected = "{\"b\": 1.0, \"a\": {\"c\": [1, \"x\"]},\"n\":0}\n\
                    { \"id\":18446744073709551615,\"n\":1}\n";
    assert_eq!(copied(table, "a.jsonl", "b.jsonl"), expected);
    let broken = "{\"a\": 1}\n{\"a\": \n{}\n";
    let expected = "{\"a\": 1,\"n\":0}\n{\"a\":\"{\\\"a\\\":\",\"n\":1}\n{\"n\":2}\n";
    assert_eq!(copied(broken, "a.jsonl", "b.jsonl"), expected);
    let expected = "{\"a\":\"NA \",\"n\":0}\n".replace("\"NA \"", "null");
    assert_eq!(copied("a\nNA \n", "a.csv", "b.jsonl"), expected);
}

#[test]
fn columns_have_to_add_up() {
    let mut records = Records::from_cells(vec!["a".to_owned()], vec![vec![Cell::Missing]]).unwrap();
    let chunk = records.next_chunk(9).unwrap().unwrap();
    let columns = ["a".to_owned(), "b".to_owned()];
    let mut writer = Writer::from_stream("pipe", Format::Csv, &columns, Vec::new()).unwrap();
    let error = writer.write_beside(&chunk, &[vec![]]).unwrap_err();
    assert!(matches!(error, RecordsError::RowLength { row: 1, expected: 2, found: 1, .. }));
    let lines = Writer::from_stream("pipe", Format::Lines, &columns, Vec::new()).err().unwrap();
    assert!(lines.to_string().contains("plain lines are only read"), "{lines}");
}

#[cfg(feature = "parquet")]
mod typed {
    use std::fs::File;
    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow_array::types::{Float32Type, Int64Type};
    use arrow_array::{
        Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float64Array, Int64Array,
        ListArray, RecordBatch, RecordBatchIterator, StringArray, StructArray,
        TimestampMicrosecondArray, UInt8Array,
    };
    use arrow_schema::{DataType, Field};

    use super::*;

    fn table(rows: i64) -> RecordBatch {
        let numbers = || (0..rows).map(|row| (row % 5 != 0).then_some(row + (1 << 60)));
        let decimal = Decimal128Array::from_iter(numbers().map(|n| n.map(i128::from)));
        let time = TimestampMicrosecondArray::from_iter(numbers()).with_timezone("UTC");
        let lists = (0..rows).map(|row| Some(vec![Some(row), None]));
        let floats = (0..rows).map(|row| Some(vec![Some(row as f32); 3]));
        let inner: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let fields = vec![(Arc::new(Field::new("i", DataType::Int64, false)), inner)];
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("id", Arc::new(Int64Array::from_iter(numbers()))),
            ("small", Arc::new(UInt8Array::from_iter_values((0..rows).map(|row| row as u8)))),
            ("decimal", Arc::new(decimal.with_precision_and_scale(30, 4).unwrap())),
            ("time", Arc::new(time)),
            ("flag", Arc::new(BooleanArray::from_iter((0..rows).map(|row| Some(row % 2 == 0))))),
            ("text", Arc::new(StringArray::from_iter_values((0..rows).map(|r| r.to_string())))),
            ("list", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
            ("vector", Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(floats))),
            ("struct", Arc::new(StructArray::from(fields))),
            ("bytes", Arc::new(BinaryArray::from_iter_values((0..rows).map(|_| b"\xff")))),
        ];
        RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap()
    }

    /// All rows, with the types that Parquet itself stores.
    fn read(scratch: &Scratch) -> RecordBatch {
        let file = File::open(&scratch.path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let mut batches = reader.with_batch_size(1 << 20).build().unwrap();
        batches.next().unwrap().unwrap()
    }

    #[test]
    fn columns_keep_their_types_and_values() {
        let batch = table(2500);
        let (input, output) = (Scratch::name("a.parquet"), Scratch::name("b.parquet"));
        let file = File::create(&input.path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        for chunk_rows in [700, 100_000] {
            copy(&input, &output, chunk_rows);
            let written = read(&output);
            assert_eq!(written.num_columns(), batch.num_columns() + 1);
            for (index, field) in batch.schema().fields().iter().enumerate() {
                assert_eq!(written.schema().field(index).name(), field.name());
                assert_eq!(written.column(index).data_type(), field.data_type(), "{field}");
                assert_eq!(written.column(index), batch.column(index), "{field}");
            }
            let added: ArrayRef =
                Arc::new(Float64Array::from_iter_values((0..2500).map(f64::from)));
            assert_eq!(written.column(batch.num_columns()), &added);
        }
    }

    #[test]
    fn batches_in_memory_are_written_as_they_are() {
        let batch = table(10);
        let schema = batch.schema();
        let parts = [batch.slice(0, 4), batch.slice(4, 0), batch.slice(4, 6)].map(Ok);
        let mut records = Records::from_batches(RecordBatchIterator::new(parts, schema)).unwrap();
        let output = Scratch::name("b.parquet");
        let columns = records.columns().to_vec();
        let mut writer = Writer::create(&output.path, Format::Parquet, &columns).unwrap();
        while let Some(chunk) = records.next_chunk(3).unwrap() {
            writer.write_beside(&chunk, &vec![vec![]; chunk.rows.len()]).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(read(&output).columns(), batch.columns());
        assert!(matches!(records.column("bytes"), Err(RecordsError::UnreadableColumn { .. })));
        assert_eq!(records.column("id").unwrap(), 0);
    }

    #[test]
    fn text_becomes_parquet_by_its_cells() {
        let (input, output) = (Scratch::file("a.csv", "x\n1\nNA\n"), Scratch::name("b.parquet"));
        copy(&input, &output, 10);
        let cells = Records::open(&output.path).unwrap().next_cells(9).unwrap().unwrap();
        assert_eq!(cells[0], [Cell::Text("1".to_owned()), Cell::Number(0.0)]);
        assert_eq!(cells[1], [Cell::Missing, Cell::Number(1.0)]);
    }
}
