use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::format::Format;
use crate::records::Records;
use crate::testing::{Scratch, bad, read_all, strings, texts};

fn open(name: &str, contents: impl AsRef<[u8]>) -> Result<Records> {
    Records::open(&Scratch::file(name, contents).path)
}

fn message(contents: impl AsRef<[u8]>) -> String {
    open("a.csv", contents).err().expect("an error").to_string()
}

fn rows(contents: impl AsRef<[u8]>) -> Vec<Row> {
    read_all(&mut open("a.csv", contents).unwrap()).unwrap()
}

#[test]
fn reads_marks_quotes_and_missing_values() {
    let csv = "\u{feff}id,text,label\r\n1,\"a, \"\"b\"\"\nc\",x\r\n\r\n2,, y\r\nNA,?,nan";
    let mut records = open("a.csv", csv).unwrap();
    assert_eq!(records.columns(), ["id", "text", "label"]);
    let expected =
        [texts(&["1", "a, \"b\"\nc", "x"]), texts(&["2", "", " y"]), texts(&["NA", "?", "nan"])];
    assert_eq!(read_all(&mut records).unwrap(), expected);
}

#[test]
fn the_delimiter_is_found() {
    for (name, contents) in [
        ("a.csv", "a;b\n1;2,0\n"),
        ("a.txt", "a|b\n1|2,0\n"),
        ("a.csv", "a\tb\n1\t2,0\n"),
        ("a.tsv", "a\tb\n1\t2,0\n"),
    ] {
        let mut records = open(name, contents).unwrap();
        assert_eq!(records.columns(), ["a", "b"], "{contents:?}");
        assert_eq!(read_all(&mut records).unwrap(), [texts(&["1", "2,0"])]);
    }
    let error = open("a.tsv", "a,b\n1,2\n").err().unwrap().to_string();
    assert!(error.contains("a.tsv has no tabs but looks delimited by ','"), "{error}");
    let one_column = read_all(&mut open("a.tsv", "text\na, b\n").unwrap()).unwrap();
    assert_eq!(one_column, [texts(&["a, b"])]);
}

#[test]
fn ragged_rows_are_bad_and_the_next_is_read() {
    let rows = rows("text,label\na,b\n\nc\n\"d\ne\",f,g\nh,i\n");
    assert_eq!((&rows[0], &rows[3]), (&texts(&["a", "b"]), &texts(&["h", "i"])));
    let (reason, raw) = bad(&rows[1]);
    assert!(reason.starts_with("line 4: 1 fields where the header has 2; quote"), "{reason}");
    assert_eq!(raw, ["c"]);
    let (reason, raw) = bad(&rows[2]);
    assert!(reason.contains("line 5: 3 fields") && reason.contains("(a comma)"), "{reason}");
    assert_eq!(raw, ["d\ne", "f"]);
}

#[test]
fn invalid_utf8_is_a_bad_row_with_its_column() {
    let rows = rows(b"text,label\na,b\n\"c\nd\",\"e\xff\"\nf,g\n");
    let (reason, raw) = bad(&rows[1]);
    assert!(reason.starts_with("line 3: column 2 (\"label\") is not valid UTF-8"), "{reason}");
    assert_eq!(raw, ["c\nd", "e\u{fffd}"]);
    assert_eq!(rows[2], texts(&["f", "g"]));
    // Neither half is UTF-8 although both together would be.
    let split = super::tests::rows(b"a,b\n\xc3,\xa9\n");
    assert!(bad(&split[0]).0.contains("column 1 (\"a\")"));
}

#[test]
fn a_quote_broken_within_its_line_is_a_bad_row() {
    let rows = rows("text,label\n\"w\" ord,x\nok,y\n");
    let (reason, raw) = bad(&rows[0]);
    assert!(reason.contains("line 2: the quoted field in column 1 (\"text\") is not"), "{reason}");
    assert_eq!((raw, &rows[1]), (&["w".to_owned()][..], &texts(&["ok", "y"])));
}

#[test]
fn an_open_quote_ends_the_reading_where_it_opened() {
    let mut contents = "text,label\na,b\nc,\"d\n".to_owned();
    contents.extend(std::iter::repeat_n("more,rows\n", 100_000));
    let mut records = open("a.csv", contents).unwrap();
    let chunk = records.next_chunk(1000).unwrap().unwrap();
    assert_eq!(chunk.rows, [texts(&["a", "b"])], "the rows before it are not lost");
    let error = records.next_chunk(1000).unwrap_err();
    assert!(matches!(error, RecordsError::BrokenQuote { line: 3, column: 2, .. }), "{error}");
    assert!(records.next_chunk(1000).unwrap().is_none());
}

#[test]
fn headers_are_required() {
    for contents in ["1,2.5,-3e4\n4,5,6\n", "1,5;2\n3;4\n", " 7\n8\n", "1,,2\n3,4,5\n"] {
        let message = message(contents);
        assert!(message.contains("the header seems to be missing"), "{contents:?} {message}");
    }
    assert!(message("a,,b\n1,2,3\n").contains("column 2 has no name"));
    assert!(message("a,b,a\n1,2,3\n").contains("several columns named \"a\""));
    assert!(message(b"a,\xff\n1,2\n").contains("line 1: the header is not valid UTF-8"));
    assert!(message(b"\xff\xfea\0,\0b\0\n\0").contains("convert the file to UTF-8"));
    assert!(message("\n\na,\"b\n1,2\n").contains("line 3: the quoted field in column 2"));
    assert!(message("a,\"b\" c\n1,2\n").contains("line 1: the quoted field in column 2"));
    assert_eq!(rows("a,2\n1,2\n"), [texts(&["1", "2"])]);
}

/// The columns and rows of a CSV whose header may be missing.
fn read_with(contents: &'static str, header: Header) -> (Vec<String>, Vec<Row>) {
    let format = Some(Format::Csv);
    let options = ReadOptions { format, header, ..ReadOptions::default() };
    let mut records =
        Records::from_reader_with("pipe", options, contents.as_bytes()).expect(contents);
    (records.columns().to_vec(), read_all(&mut records).unwrap())
}

#[test]
fn data_may_come_without_a_header() {
    let auto = |names: &[&str]| Header::Auto { columns: strings(names) };
    let rows = |contents, header| {
        let (columns, rows) = read_with(contents, header);
        assert_eq!(columns, ["x", "y"], "{contents:?}");
        rows
    };
    assert_eq!(rows("0.5,0.2\n", auto(&["x", "y"])), [texts(&["0.5", "0.2"])]);
    assert_eq!(rows("0,5;0,2", auto(&["x", "y"])), [texts(&["0,5", "0,2"])]);
    assert_eq!(rows("1,b\nc,d\n", auto(&["x", "y"])), [texts(&["1", "b"]), texts(&["c", "d"])]);
    assert_eq!(rows("x,y\n1,2\n", auto(&["x", "y"])), [texts(&["1", "2"])]);
    assert_eq!(rows("x,y\n1,2\n", auto(&["y"])), [texts(&["1", "2"])]);
    assert_eq!(rows("x,y\n1,2\n", auto(&["z"])), [texts(&["1", "2"])]);
    let none = Header::None { columns: strings(&["x", "y"]) };
    assert_eq!(rows("x,y\n1,2\n", none), [texts(&["x", "y"]), texts(&["1", "2"])]);
    let ragged = rows("1,2,3\n4,5\n", auto(&["x", "y"]));
    let (reason, raw) = bad(&ragged[0]);
    assert!(reason.starts_with("line 1: 3 fields where there should be 2;"), "{reason}");
    assert_eq!((raw, &ragged[1]), (&strings(&["1", "2"])[..], &texts(&["4", "5"])));
    let (columns, numbered) = read_with("0,1\n5,6\n", auto(&["0", "1"]));
    assert_eq!((columns, numbered), (strings(&["0", "1"]), vec![texts(&["5", "6"])]));
}

#[test]
fn empty_files_and_headers_alone_are_told_apart() {
    for contents in ["", "\u{feff}", "\r\n\n"] {
        assert!(message(contents).contains("a.csv is empty"), "{contents:?}");
    }
    for contents in ["a,b", "a,b\n", "a,b\r\n\r\n"] {
        assert!(message(contents).contains("a.csv has columns but no rows"), "{contents:?}");
    }
}

#[test]
fn a_million_columns_are_refused() {
    let header: String = (0..1_000_000).map(|index| format!("c{index},")).collect();
    let found = message(format!("{header}z\n1,2\n"));
    assert!(found.contains("a.csv has more than 100000 columns"), "{found}");
    let names: Vec<_> = (0..100_000).map(|index| format!("c{index}")).collect();
    let mut widest = open("a.csv", format!("{}\n1,2\n", names.join(","))).unwrap();
    assert_eq!(widest.columns().len(), 100_000);
    let first = read_all(&mut widest).unwrap();
    assert!(bad(&first[0]).0.contains("2 fields where the header has 100000"));
}

fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_files_and_streams_are_read() {
    let mut parts = gzip(b"a;b\n1;2\n");
    parts.extend(gzip(b"3;4\n"));
    let expected = [texts(&["1", "2"]), texts(&["3", "4"])];
    assert_eq!(read_all(&mut open("a.csv.gz", &parts).unwrap()).unwrap(), expected);
    let stream = std::io::Cursor::new(parts);
    let mut piped = Records::from_reader("pipe", Format::Csv, stream).unwrap();
    assert_eq!(read_all(&mut piped).unwrap(), expected);
}

#[test]
fn damaged_compression_is_an_error() {
    let long: String = (0..50_000).map(|row| format!("{row},{}\n", row * 7919 % 10_007)).collect();
    let whole = gzip(format!("a,b\n{long}").as_bytes());
    for length in [0, 1, 5, 12, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let outcome = open("a.csv.gz", &whole[..length]).and_then(|mut all| read_all(&mut all));
        let error = outcome.unwrap_err();
        assert!(matches!(error, RecordsError::Gzip { .. }), "{length}: {error}");
        assert!(error.to_string().contains("a.csv.gz: cannot uncompress from row "), "{error}");
    }
    let mut wrong = whole.clone();
    *wrong.iter_mut().nth_back(6).unwrap() ^= 1;
    let outcome = open("a.csv.gz", wrong).and_then(|mut all| read_all(&mut all));
    assert!(matches!(outcome.unwrap_err(), RecordsError::Gzip { .. }));
    assert!(open("a.csv.gz", "a,b\n1,2\n").err().unwrap().to_string().contains("uncompress"));
}
