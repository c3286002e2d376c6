use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::testing::{Scratch, read_all};

#[test]
fn missing_files_are_named_in_every_format() {
    let parquet = cfg!(feature = "parquet").then_some("parquet");
    for extension in
        ["csv", "tsv", "jsonl", "ndjson", "csv.gz", "jsonl.gz"].into_iter().chain(parquet)
    {
        let error = Records::open(format!("/nowhere/a.{extension}")).err().unwrap();
        assert!(matches!(error, RecordsError::Io { .. }), "{error}");
        assert!(error.to_string().starts_with("cannot read /nowhere/a."), "{error}");
    }
    let folder = Scratch::name("a.csv");
    std::fs::create_dir(&folder.path).unwrap();
    assert!(matches!(Records::open(&folder.path).err().unwrap(), RecordsError::Io { .. }));
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_format_that_was_left_out_says_so() {
    let error = Records::open("/nowhere/a.parquet").err().unwrap().to_string();
    assert!(error.ends_with("build it with the feature \"parquet\""), "{error}");
}

#[test]
fn standard_input_needs_a_format() {
    let error = Records::open("-").err().unwrap().to_string();
    assert!(error.contains("or name the format"), "{error}");
}

#[test]
fn a_format_may_be_named_instead_of_the_extension() {
    let file = Scratch::file("data", "a,b\n1,2\n");
    assert!(Records::open(&file.path).is_err());
    assert_eq!(read_all(&mut Records::open_as(&file.path, Format::Csv).unwrap()).unwrap().len(), 1);
}

#[test]
fn chunks_are_counted_and_at_most_as_long_as_asked() {
    let file = Scratch::file("a.csv", "a\n1\n2\n3\n4\n5\n");
    let mut records = Records::open(&file.path).unwrap();
    let mut sizes = Vec::new();
    while let Some(chunk) = records.next_chunk(2).unwrap() {
        sizes.push((chunk.first_row, chunk.rows.len()));
    }
    assert_eq!(sizes, [(0, 2), (2, 2), (4, 1)]);
    assert!(records.next_chunk(2).unwrap().is_none());
    let one = Records::open(&file.path).unwrap().next_chunk(0).unwrap().unwrap();
    assert_eq!(one.rows.len(), 1, "asking for no rows must not look like the end");
}

#[test]
fn wide_tables_come_in_short_chunks() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let names: Vec<_> = (0..5000).map(|index| format!("c{index}")).collect();
    writeln!(gzip, "{}", names.join(",")).unwrap();
    let row = vec!["1"; 5000].join(",");
    (0..450).for_each(|_| writeln!(gzip, "{row}").unwrap());
    let file = Scratch::file("wide.csv.gz", gzip.finish().unwrap());
    let mut records = Records::open(&file.path).unwrap();
    let mut sizes = Vec::new();
    while let Some(chunk) = records.next_chunk(100_000).unwrap() {
        sizes.push((chunk.first_row, chunk.rows.len()));
    }
    assert_eq!(sizes, [(0, 200), (200, 200), (400, 50)]);
}

#[test]
fn long_texts_come_in_short_chunks() {
    let text = "x".repeat(20 << 20);
    let rows = vec![vec![Cell::Text(text)]; 5];
    let mut records = Records::from_cells(vec!["t".to_owned()], rows).unwrap();
    assert_eq!(records.next_chunk(100).unwrap().unwrap().rows.len(), 4);
    assert_eq!(records.next_chunk(100).unwrap().unwrap().first_row, 4);
    let vectors = vec![vec![Cell::List(vec![0.0; 1 << 20])]; 20];
    let mut records = Records::from_cells(vec!["v".to_owned()], vectors).unwrap();
    assert_eq!(records.next_chunk(100).unwrap().unwrap().rows.len(), 16);
}

#[test]
fn strict_reading_names_file_row_line_and_column() {
    let file = Scratch::file("a.csv", b"x,y\n1,2\n\n3,\xff\n");
    let mut records = Records::open(&file.path).unwrap();
    let message = records.next_cells(9).unwrap_err().to_string();
    let expected = "a.csv, row 2: line 4: column 2 (\"y\") is not valid UTF-8; convert the file";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn a_long_stream_is_read_as_it_comes() {
    // A reader that fails once far more has been asked for than two chunks can need.
    struct Endless(usize);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            assert!(self.0 < 1 << 20, "read ahead");
            let text = |at: usize| if at < 4 { b"a,b\n"[at] } else { b"1,2\n"[at % 4] };
            buffer.iter_mut().enumerate().for_each(|(index, byte)| *byte = text(self.0 + index));
            self.0 += buffer.len();
            Ok(buffer.len())
        }
    }
    let mut records = Records::from_reader("pipe", Format::Csv, Endless(0)).unwrap();
    assert_eq!(records.next_chunk(10_000).unwrap().unwrap().rows.len(), 10_000);
    assert_eq!(records.next_chunk(10).unwrap().unwrap().first_row, 10_000);
}
