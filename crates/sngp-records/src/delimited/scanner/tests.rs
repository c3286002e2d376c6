use std::io::Cursor;

use proptest::prelude::*;

use super::*;

fn scanner(bytes: &[u8], max_bytes: usize) -> Scanner {
    Scanner::new(Box::new(Cursor::new(bytes.to_vec())), b',', max_bytes)
}

type Fields = Vec<Vec<u8>>;

/// Lines and fields of all records.
fn scan(bytes: &[u8]) -> Result<Vec<(usize, Fields)>, Fault> {
    let (mut scanner, mut record) = (scanner(bytes, usize::MAX), Record::default());
    let mut records = Vec::new();
    while scanner.next(&mut record, usize::MAX)? {
        assert_eq!(record.broken_field, None);
        records.push((record.line, record.fields().map(<[u8]>::to_vec).collect()));
    }
    Ok(records)
}

#[test]
fn records_know_their_first_line() {
    for text in ["a,b\n\n\"c\nd\",\"e\"\"f\"\n\ng,\n", "a,b\r\n\r\n\"c\nd\",\"e\"\"f\"\r\n\r\ng,"] {
        let records = scan(text.as_bytes()).unwrap();
        let expected = [(1, ["a", "b"]), (3, ["c\nd", "e\"f"]), (6, ["g", ""])];
        let expected = expected
            .map(|(line, fields)| (line, fields.map(|field| field.as_bytes().to_vec()).to_vec()));
        assert_eq!(records, expected, "{text:?}");
    }
    let returns: Vec<_> = scan(b"a\rb\r\rc").unwrap().iter().map(|(line, _)| *line).collect();
    assert_eq!(returns, [1, 2, 4]);
}

#[test]
fn an_empty_quoted_field_is_no_blank_line() {
    assert_eq!(scan(b"\"\"\n\n\"\"").unwrap().len(), 2);
    assert_eq!(scan(b"\n\r\n").unwrap().len(), 0);
}

#[test]
fn broken_quotes_are_placed_where_they_start() {
    for (text, expected) in [
        ("a,b\nx,\"y\n", (2, 2)),
        ("a,b\n\"x\n\"\"y\n\",z\nq,\"", (5, 2)),
        ("\"", (1, 1)),
        ("\"\"\"", (1, 1)),
        ("a,b\n\"a,x\n\"b,y\n", (2, 1)),
    ] {
        let fault = scan(text.as_bytes()).unwrap_err();
        let Fault::BrokenQuote { line, column } = fault else { panic!("{fault:?}") };
        assert_eq!((line, column), expected, "{text:?}");
    }
}

#[test]
fn a_quote_broken_within_its_line_costs_that_line_only() {
    let (mut scanner, mut record) = (scanner(b"x,\"w\" ord,z\n1,2\n", 99), Record::default());
    assert!(scanner.next(&mut record, 9).unwrap());
    assert_eq!(record.broken_field, Some(2));
    assert_eq!(record.fields().collect::<Vec<_>>(), [b"x", b"w"]);
    assert!(scanner.next(&mut record, 9).unwrap());
    assert_eq!((record.broken_field, record.line, record.field_count), (None, 2, 2));
}

#[test]
fn endless_rows_are_given_up() {
    let mut text = b"a\nb,\"".to_vec();
    text.resize(1 << 20, b'x');
    let mut record = Record::default();
    let mut quoted = scanner(&text, 100_000);
    assert!(quoted.next(&mut record, 9).unwrap());
    let fault = quoted.next(&mut record, 9).unwrap_err();
    assert!(matches!(fault, Fault::BrokenQuote { line: 2, column: 2 }), "{fault:?}");
    assert!(record.bytes.capacity() < 1 << 19);
    text[4] = b'x';
    let mut plain = scanner(&text, 100_000);
    assert!(plain.next(&mut record, 9).unwrap());
    assert!(matches!(plain.next(&mut record, 9).unwrap_err(), Fault::TooLong { line: 2 }));
}

#[test]
fn fields_beyond_those_wanted_are_counted_but_not_kept() {
    let (mut scanner, mut record) = (scanner(b"a,b,c,d\n", 99), Record::default());
    assert!(scanner.next(&mut record, 2).unwrap());
    assert_eq!(record.fields().collect::<Vec<_>>(), [b"a", b"b"]);
    assert_eq!((record.field_count, &record.bytes[..]), (4, &b"ab"[..]));
}

proptest! {
    #[test]
    fn what_the_csv_crate_writes_is_read(
        rows in prop::collection::vec(prop::collection::vec("[a,\"\r\n é]{0,6}", 2..4), 0..9),
    ) {
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        rows.iter().for_each(|row| writer.write_record(row).unwrap());
        let records = scan(&writer.into_inner().unwrap()).unwrap();
        let text = |field: Vec<u8>| String::from_utf8(field).unwrap();
        let read: Vec<Vec<_>> =
            records.into_iter().map(|(_, row)| row.into_iter().map(text).collect()).collect();
        prop_assert_eq!(read, rows);
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = scan_all(&bytes);
    }

    #[test]
    fn any_mix_of_marks_is_taken(text in "[a,\"\r\n]{0,40}") {
        let _ = scan_all(text.as_bytes());
    }
}

/// Every record or fault, also those with a broken field.
fn scan_all(bytes: &[u8]) -> Result<usize, Fault> {
    let (mut scanner, mut record, mut count) = (scanner(bytes, 50), Record::default(), 0);
    while scanner.next(&mut record, 3)? {
        assert!(record.fields().count() == record.field_count.min(3));
        count += 1;
    }
    Ok(count)
}
