use std::fs;
use std::sync::{Arc, Mutex};

use super::*;
use crate::records::Records;
use crate::testing::{Scratch, read_all, strings};

/// One of every kind that this build writes.
const FORMATS: &[Format] = if cfg!(feature = "parquet") {
    &[Format::Csv, Format::JsonLines, Format::Parquet]
} else {
    &[Format::Csv, Format::JsonLines]
};

fn folder_of(scratch: &Scratch) -> Vec<String> {
    let entries = fs::read_dir(scratch.path.parent().unwrap()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn number(value: f64) -> Vec<Vec<Cell>> {
    vec![vec![Cell::Number(value)]]
}

#[test]
fn nothing_partial_is_ever_under_the_name() {
    for &format in FORMATS {
        let scratch = Scratch::file("out", "before");
        let mut dropped = Writer::create(&scratch.path, format, &strings(&["x"])).unwrap();
        dropped.write(&number(1.0)).unwrap();
        assert_eq!(folder_of(&scratch).len(), 2);
        drop(dropped);
        assert_eq!(folder_of(&scratch), ["out"]);
        assert_eq!(fs::read(&scratch.path).unwrap(), b"before");
        let mut finished = Writer::create(&scratch.path, format, &strings(&["x"])).unwrap();
        finished.write(&number(1.0)).unwrap();
        finished.finish().unwrap();
        assert_eq!(folder_of(&scratch), ["out"]);
        let mut records = Records::open_as(&scratch.path, format).unwrap();
        assert_eq!(read_all(&mut records).unwrap().len(), 1);
    }
}

#[test]
fn names_that_cannot_be_written_to_are_refused_at_once() {
    let columns = strings(&["x"]);
    let create = |path: &Path| Writer::create(path, Format::Csv, &columns).err().unwrap();
    let scratch = Scratch::name("a.csv.gz");
    assert!(create(&scratch.path).to_string().ends_with("drop the .gz"));
    assert!(create(scratch.path.parent().unwrap()).to_string().contains("a folder has this name"));
    assert!(create("..".as_ref()).to_string().contains("a folder has this name"));
    let nowhere = create("/nowhere/a.csv".as_ref()).to_string();
    assert!(nowhere.starts_with("cannot write /nowhere/a.csv: "), "{nowhere}");
    let repeated = Writer::create("a.csv", Format::Csv, &strings(&["x", "x"])).err().unwrap();
    assert!(matches!(repeated, RecordsError::RepeatedColumn { .. }));
}

/// A pipe whose reader has gone.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_told_from_other_errors() {
    for &format in FORMATS {
        let mut writer = Writer::from_stream("pipe", format, &strings(&["x"]), Closed).unwrap();
        let outcome = writer.write(&number(1.0)).and_then(|()| writer.finish());
        let Err(RecordsError::Write { cause, .. }) = outcome else { panic!("{format}") };
        assert_eq!(cause.kind(), io::ErrorKind::BrokenPipe, "{format}");
    }
}

#[test]
fn rows_must_fit_the_columns() {
    let scratch = Scratch::name("a.csv");
    let mut writer = Writer::create(&scratch.path, Format::Csv, &strings(&["x"])).unwrap();
    writer.write(&number(1.0)).unwrap();
    let error = writer.write(&[vec![Cell::Missing], vec![]]).unwrap_err().to_string();
    assert!(error.ends_with("a.csv, row 3: 0 cells where there are 1 columns"), "{error}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_columns_keep_the_type_of_the_first_batch() {
    let scratch = Scratch::name("a.parquet");
    let columns = strings(&["number", "mixed", "none"]);
    let mut writer = Writer::create(&scratch.path, Format::Parquet, &columns).unwrap();
    let row = |first, second, third| vec![first, second, third];
    let text = |text: &str| Cell::Text(text.to_owned());
    writer.write(&[]).unwrap();
    writer
        .write(&[
            row(Cell::Missing, Cell::Bool(true), Cell::Missing),
            row(Cell::Number(1.0), Cell::Number(2.0), Cell::Missing),
        ])
        .unwrap();
    writer.write(&[row(Cell::Number(2.0), text("x"), Cell::Number(3.0))]).unwrap();
    let error = writer.write(&[row(text("y"), Cell::Missing, Cell::Missing)]).unwrap_err();
    let expected = "row 4: \"number\" is text but the first rows made it a column of numbers";
    assert!(error.to_string().contains(expected), "{error}");
    writer.finish().unwrap();
    let cells = Records::open(&scratch.path).unwrap().next_cells(9).unwrap().unwrap();
    assert_eq!(
        cells,
        [
            row(Cell::Missing, text("true"), Cell::Missing),
            row(Cell::Number(1.0), text("2"), Cell::Missing),
            row(Cell::Number(2.0), text("x"), text("3")),
        ]
    );
}

#[test]
fn tables_without_rows_are_complete_files() {
    for &format in FORMATS.iter().filter(|format| **format != Format::JsonLines) {
        let scratch = Scratch::name("out");
        Writer::create(&scratch.path, format, &strings(&["x"])).unwrap().finish().unwrap();
        let error = Records::open_as(&scratch.path, format).err().unwrap();
        assert!(matches!(error, RecordsError::NoRows { .. }), "{error}");
    }
}

#[test]
fn numbers_that_json_cannot_hold_are_null() {
    let (stream, seen) = shared();
    let columns = strings(&["a \"b\""]);
    let mut writer = Writer::from_stream("pipe", Format::JsonLines, &columns, stream).unwrap();
    for cell in [Cell::Number(f64::INFINITY), Cell::List(vec![f32::NAN, 1.5]), Cell::Number(-0.0)] {
        writer.write(&[vec![cell]]).unwrap();
    }
    let expected = "{\"a \\\"b\\\"\":null}\n{\"a \\\"b\\\"\":[null,1.5]}\n{\"a \\\"b\\\"\":-0}\n";
    assert_eq!(String::from_utf8(seen.lock().unwrap().clone()).unwrap(), expected);
}

/// A stream that shows only what has been flushed, and what it shows.
fn shared() -> (Flushed, Arc<Mutex<Vec<u8>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    (Flushed { held: Vec::new(), seen: seen.clone() }, seen)
}

struct Flushed {
    held: Vec<u8>,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Write for Flushed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.seen.lock().unwrap().append(&mut self.held);
        Ok(())
    }
}

#[test]
fn streams_are_flushed_after_each_batch() {
    let (stream, seen) = shared();
    let mut writer = Writer::from_stream("pipe", Format::Csv, &strings(&["x"]), stream).unwrap();
    writer.write(&number(1.0)).unwrap();
    assert_eq!(*seen.lock().unwrap(), b"x\n1\n");
    writer.write(&number(2.0)).unwrap();
    assert_eq!(*seen.lock().unwrap(), b"x\n1\n2\n");
    writer.finish().unwrap();
}
