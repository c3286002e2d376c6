use super::*;
use crate::records::Records;
use crate::testing::{Scratch, bad, read_all};

fn open(contents: impl AsRef<[u8]>) -> Result<Records> {
    Records::open(&Scratch::file("a.jsonl", contents).path)
}

fn message(contents: impl AsRef<[u8]>) -> String {
    open(contents).err().expect("an error").to_string()
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[test]
fn columns_come_in_the_order_of_the_first_lines() {
    let mut records = open(
        "\u{feff}{\"z\": 1.5, \"a\": \"NA\"}\r\n\n{\"b\": true, \"z\": null}\n\
         {\"a\": [1, 2.5, null], \"b\": 18446744073709551615, \"z\": -3}",
    )
    .unwrap();
    assert_eq!(records.columns(), ["z", "a", "b"]);
    let rows = read_all(&mut records).unwrap();
    assert_eq!(rows[0], Row::Cells(vec![Cell::Number(1.5), text("NA"), Cell::Missing]));
    assert_eq!(rows[1], Row::Cells(vec![Cell::Missing, Cell::Missing, Cell::Bool(true)]));
    let Row::Cells(cells) = &rows[2] else { panic!("{:?}", rows[2]) };
    assert_eq!((&cells[0], &cells[2]), (&Cell::Number(-3.0), &text("18446744073709551615")));
    let Cell::List(list) = &cells[1] else { panic!("{:?}", cells[1]) };
    assert!(list[..2] == [1.0, 2.5] && list[2].is_nan());
    assert!(records.warnings().is_empty());
}

#[test]
fn later_keys_are_passed_over_with_a_warning() {
    let mut contents = "{\"a\": 1}\n".repeat(100);
    contents.push_str("{\"new\": 5, \"a\": 2}\n{\"a\": {\"b\": [1]}}\n");
    let mut records = open(contents).unwrap();
    assert_eq!((records.columns(), records.warnings().len()), (&["a".to_owned()][..], 0));
    let rows = read_all(&mut records).unwrap();
    assert_eq!(rows[100], Row::Cells(vec![Cell::Number(2.0)]));
    assert_eq!(rows[101], Row::Cells(vec![text("{\"b\":[1]}")]));
    let warnings = records.warnings();
    assert!(warnings[0].ends_with("the first 100 lines do not have: [\"new\"]"), "{warnings:?}");
    assert!(warnings[1].ends_with("JSON text in the columns [\"a\"]"), "{warnings:?}");
}

#[test]
fn bad_lines_are_named_and_the_next_is_read() {
    for (second, expected) in [
        (&b"[\"a\", 1]"[..], "line 3: a list where an object {...} is needed"),
        (b"null", "line 3: null where"),
        (b"-5", "line 3: a number where"),
        (b"{\"a\": 1,}", "line 3, column 9: not valid JSON: trailing comma"),
        (b"{\"a\": NaN}", "line 3, column 7: not valid JSON: expected value"),
        (b"{\"a\": 1} {\"a\": 2}", "line 3, column 10: not valid JSON: trailing characters"),
        (b"{\"a\": \"\xff\"}", "line 3, column 8: not valid UTF-8"),
        (b"{\"a\": 1, \"a\": 2}", "line 3: the key \"a\" is there twice"),
        (b"{\"a\": 1", "line 3, column 7: not valid JSON: EOF while parsing an object"),
    ] {
        let contents = [b"{\"a\": 1}\n\n", second, b"\n{\"a\": 2}\n"].concat();
        let rows = read_all(&mut open(contents).unwrap()).unwrap();
        let (reason, raw) = bad(&rows[1]);
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(raw.len(), 1);
        assert_eq!(rows[2], Row::Cells(vec![Cell::Number(2.0)]));
    }
}

#[test]
fn files_without_objects_are_refused() {
    assert!(message("").contains("a.jsonl is empty"));
    assert!(message("\n \r\n").contains("a.jsonl is empty"));
    assert!(message("{}\n{}\n").contains("a.jsonl has no columns"));
    let pretty = message("{\n  \"a\": 1\n}\n");
    assert!(pretty.contains("a.jsonl, row 1: line 1, column 1: not valid JSON"), "{pretty}");
    assert!(message("{\"\": 1}\n").contains("column 1 has no name"));
    assert!(message("[1]\n[2]\n").contains("row 1: line 1: a list where"));
}

#[test]
fn deep_nesting_is_a_bad_row() {
    let deep = format!("{{\"a\": 1}}\n{{\"a\": {}}}\n", "[".repeat(100_000));
    let rows = read_all(&mut open(deep).unwrap()).unwrap();
    assert!(bad(&rows[1]).0.contains("recursion limit"));
}

#[test]
fn too_many_columns_are_refused() {
    let keys: Vec<_> = (0..200_000).map(|index| format!("\"c{index}\":1")).collect();
    let found = message(format!("{{{}}}\n", keys.join(",")));
    assert!(found.contains("a.jsonl has more than 100000 columns"), "{found}");
    let spread: String =
        (0..100).map(|line| format!("{{{}}}\n", keys[line * 2000..][..2000].join(","))).collect();
    assert!(message(spread).contains("more than 100000 columns"));
    let late = format!("{}{{{}}}\n", "{\"a\": 1}\n".repeat(100), keys.join(","));
    let rows = read_all(&mut open(late).unwrap()).unwrap();
    assert_eq!(bad(&rows[100]).0, "line 101: more than 100000 keys in one object");
}
