use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::records::Records;
use crate::testing::{Scratch, strings};

/// Letters with everything that quoting has to get right.
fn any_text() -> impl Strategy<Value = Cell> {
    let texts =
        prop_oneof!["[a-c ,;|\t\"\r\n'\\\\{}\u{feff}é]{0,8}", any::<String>(), Just("NA".into())];
    texts.prop_map(Cell::Text)
}

fn any_list() -> impl Strategy<Value = Cell> {
    vec(any::<f32>().prop_filter("finite", |value| value.is_finite()), 0..5).prop_map(Cell::List)
}

/// Either missing or of the column's kind.
fn column(kind: BoxedStrategy<Cell>) -> BoxedStrategy<Cell> {
    prop_oneof![1 => Just(Cell::Missing), 3 => kind].boxed()
}

fn rows() -> impl Strategy<Value = Vec<Vec<Cell>>> {
    let number = any::<f64>().prop_filter("finite", |value| value.is_finite());
    let kinds = [
        column(any_text().boxed()),
        column(number.prop_map(Cell::Number).boxed()),
        column(any::<bool>().prop_map(Cell::Bool).boxed()),
        column(any_list().boxed()),
        column(any_text().boxed()),
    ];
    vec(kinds.to_vec(), 1..12)
}

fn round_trip(name: &str, rows: &[Vec<Cell>], batch: usize) -> Vec<Vec<Cell>> {
    let scratch = Scratch::name(name);
    let format = Format::of_path(&scratch.path).unwrap();
    let columns = strings(&["t,;|", "number", "b \"ool\"", "list", "text\n2"]);
    let mut writer = Writer::create(&scratch.path, format, &columns[..rows[0].len()]).unwrap();
    rows.chunks(batch).for_each(|rows| writer.write(rows).unwrap());
    writer.finish().unwrap();
    let mut records = Records::open(&scratch.path).unwrap();
    assert_eq!(records.columns(), &columns[..rows[0].len()]);
    assert!(records.warnings().is_empty());
    let mut cells = Vec::new();
    while let Some(more) = records.next_cells(batch).unwrap() {
        cells.extend(more);
    }
    cells
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn delimited_files_give_back_the_text(rows in rows(), batch in 1..5usize, width in 1..6usize) {
        let cut = |row: &Vec<Cell>| row[..width].to_vec();
        let rows: Vec<_> = rows.iter().map(cut).collect();
        let field = |cell: &Cell| Cell::from_field(&cell.to_field());
        let expected: Vec<Vec<_>> =
            rows.iter().map(|row| row.iter().map(field).collect()).collect();
        prop_assert_eq!(round_trip("a.csv", &rows, batch), expected.clone());
        prop_assert_eq!(round_trip("a.tsv", &rows, batch), expected);
    }

    #[test]
    fn json_lines_give_back_the_cells(rows in rows(), batch in 1..5usize) {
        prop_assert_eq!(round_trip("a.jsonl", &rows, batch), rows);
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_gives_back_the_cells(rows in rows()) {
        // In one batch, since a column without any value in the first one becomes text.
        prop_assert_eq!(round_trip("a.parquet", &rows, 100), rows);
    }
}
