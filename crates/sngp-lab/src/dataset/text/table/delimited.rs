use std::path::Path;

use csv::{ErrorKind, Reader, ReaderBuilder};

use super::super::error::{DatasetError, Place, Result};
use super::super::source::{decode, empty, io_error, line_at, read_bytes};
use super::quotes::check_quotes;
use super::{Columns, Rows};

pub(super) fn read(path: &Path, delimiter: u8, columns: Columns) -> Result<Rows> {
    let bytes = read_bytes(path)?;
    let text = decode(path, &bytes, |byte| place_at(&bytes, byte, delimiter))?;
    check_quotes(path, text, delimiter)?;
    let mut reader = builder(delimiter).from_reader(text.as_bytes());
    let (text_field, label_field) = locate(path, &mut reader, columns)?;
    let mut rows = Rows::default();
    for record in reader.records() {
        let record = record.map_err(|error| record_error(path, text, error))?;
        rows.texts.push(record[text_field].to_owned());
        rows.labels.extend(label_field.map(|field| record[field].to_owned()));
    }
    Ok(rows)
}

fn builder(delimiter: u8) -> ReaderBuilder {
    let mut builder = ReaderBuilder::new();
    builder.delimiter(delimiter);
    builder
}

fn locate(
    path: &Path,
    reader: &mut Reader<&[u8]>,
    columns: Columns,
) -> Result<(usize, Option<usize>)> {
    let header = reader.headers().map_err(|error| io_error(path, error.into()))?;
    if header.is_empty() {
        return Err(empty(path));
    }
    columns.locate(path, &header.iter().collect::<Vec<_>>())
}

/// The data row that holds the byte at `offset`, or the line where that is in the header.
fn place_at(bytes: &[u8], offset: usize, delimiter: u8) -> Place {
    let mut up_to_here = builder(delimiter).flexible(true).from_reader(&bytes[..=offset]);
    match up_to_here.byte_records().count() {
        0 => Place::Line(line_at(bytes, offset)),
        row => Place::Row(row),
    }
}

fn record_error(path: &Path, text: &str, error: csv::Error) -> DatasetError {
    match error.kind() {
        ErrorKind::UnequalLengths { pos: Some(start), expected_len, len } => {
            DatasetError::RaggedRow {
                path: path.to_owned(),
                line: record_line(text, start.byte() as usize),
                expected: *expected_len as usize,
                found: *len as usize,
            }
        }
        _ => io_error(path, error.into()),
    }
}

/// The line a record starts on. The `csv` crate's own count is not used because its positions lie
/// before the line end of the previous record and before blank lines.
fn record_line(text: &str, position: usize) -> usize {
    let bytes = text.as_bytes();
    let is_line_end = |byte: &&u8| matches!(byte, b'\n' | b'\r');
    let skipped = bytes.iter().skip(position).take_while(is_line_end).count();
    line_at(bytes, position + skipped)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Scratch, real_data};
    use super::super::super::text_set::TextSet;
    use super::super::{read_table, read_texts};
    use super::*;
    use proptest::prelude::*;

    fn read_as(name: &str, contents: impl AsRef<[u8]>) -> Result<TextSet> {
        read_table(&Scratch::file(name, contents).path, "text", "label")
    }

    fn csv_error(contents: impl AsRef<[u8]>) -> DatasetError {
        read_as("a.csv", contents).unwrap_err()
    }

    #[test]
    fn reads_csv_with_mark_quotes_and_empty_texts() {
        let csv = "\u{feff}id,text,label\r\n1,\"a, \"\"b\"\"\nc\",x\r\n\r\n2,, y\r\n";
        let set = read_as("a.csv", csv).unwrap();
        assert_eq!(set.texts, ["a, \"b\"\nc", ""]);
        assert_eq!(set.labels, ["x", " y"]);
    }

    #[test]
    fn reads_tsv() {
        let set = read_as("a.tsv", "label\ttext\nx\tone, two\n\"y\"\t\"a\tb\"").unwrap();
        assert_eq!(set.texts, ["one, two", "a\tb"]);
        assert_eq!(set.labels, ["x", "y"]);
    }

    #[test]
    fn reads_texts_alone() {
        let file = Scratch::file("a.csv", "text\none\n\"\"\n");
        assert_eq!(read_texts(&file.path, "text").unwrap(), ["one", ""]);
    }

    #[test]
    fn missing_and_repeated_columns_are_named() {
        let message = csv_error("text,category\nhi,x\n").to_string();
        let end = "a.csv has no column \"label\"; its columns are [\"text\", \"category\"]";
        assert!(message.ends_with(end), "{message}");
        let message = csv_error("text,label,text\na,b,c\n").to_string();
        assert!(message.contains("a.csv has 2 columns named \"text\""), "{message}");
    }

    #[test]
    fn ragged_rows_are_placed_by_line() {
        for (csv, expected) in [
            ("text,label\na,b\nc\n", (3, 1)),
            ("text,label\r\na,b\r\n\r\nc,d,e\r\n", (4, 3)),
            ("text,label\n\"a\nb\",c\nd,e,f,g\nh,i\n", (4, 4)),
            ("\u{feff}text,label\nc\n", (2, 1)),
        ] {
            let error = csv_error(csv);
            let DatasetError::RaggedRow { line, found, expected: 2, .. } = error else {
                panic!("{error}")
            };
            assert_eq!((line, found), expected, "{csv:?}");
        }
    }

    #[test]
    fn invalid_utf8_is_placed_by_row_and_byte() {
        let error = csv_error(b"text,label\na,b\n\"c\nd\",\"e\xff\"\n");
        assert!(error.to_string().contains("a.csv, row 2, byte offset 23: not valid"), "{error}");
        let error = csv_error(b"text,label\n\xe9t\xe9,b\n");
        assert!(error.to_string().contains("row 1, byte offset 11"), "{error}");
        let error = csv_error(b"te\xffxt,label\n");
        assert!(error.to_string().contains("line 1, byte offset 2"), "{error}");
    }

    #[test]
    fn a_stray_quote_does_not_join_rows() {
        let error = read_as("a.tsv", "text\tlabel\n\"a\tx\n\"b\ty\n").unwrap_err();
        assert!(matches!(error, DatasetError::BrokenQuote { line: 2, column: 1, .. }), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_was_written_is_read(rows in prop::collection::vec(any::<(String, String)>(), 1..9)) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(["text", "label"]).unwrap();
            rows.iter().for_each(|(text, label)| writer.write_record([text, label]).unwrap());
            let set = read_as("a.csv", writer.into_inner().unwrap()).unwrap();
            prop_assert_eq!(set.texts.into_iter().zip(set.labels).collect::<Vec<_>>(), rows);
        }
    }

    #[test]
    fn real_banking77_has_the_published_sizes() {
        let Some(folder) = real_data("banking77") else { return };
        for (file, rows) in [("train.csv", 10003), ("test.csv", 3080)] {
            let set = read_table(folder.join(file), "text", "category").unwrap();
            assert_eq!((set.len(), set.label_names().len()), (rows, 77));
        }
    }
}
