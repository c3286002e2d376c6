use super::*;

fn text(value: &str) -> Cell {
    Cell::from_field(value)
}

fn learn(name: &str, values: &[&str]) -> Result<TablePreparation, BadCell> {
    let rows: Vec<Vec<Cell>> = values.iter().map(|value| vec![text(value)]).collect();
    TablePreparation::learn(&[name.to_string()], &rows, &[])
}

#[test]
fn numbers_are_standardized_and_missing_ones_marked() {
    let table = learn("a", &["1", "", "3"]).unwrap();
    assert_eq!(table.width(), 2);
    let encode = |value| table.encode(&[0], &[text(value)]).unwrap().0;
    assert_eq!(encode("3"), [1.0, 0.0]);
    assert_eq!(encode(" 2 "), [0.0, 0.0]);
    assert_eq!(encode("NA"), [0.0, 1.0]);
    let error = table.encode(&[0], &[text("x")]).unwrap_err();
    assert_eq!((error.column.as_str(), error.reason.as_str()), ("a", "`x` is not a number"));
    let error = table.encode(&[0], &[text("inf")]).unwrap_err();
    assert!(error.reason.contains("not a finite number"));
}

#[test]
fn long_tails_are_taken_by_their_logarithm() {
    let mut values: Vec<String> = (0..200).map(|i| (i % 10).to_string()).collect();
    values.push("100000".to_string());
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let table = learn("income", &values).unwrap();
    let Encoding::Number { least, .. } = table.columns[0].encoding else { panic!() };
    assert_eq!(least, Some(0.0));
    let far = table.encode(&[0], &[text("100000")]).unwrap().0[0];
    let below = table.encode(&[0], &[text("-50")]).unwrap().0[0];
    assert!(far < 20.0 && below < -20.0, "{far} {below}");
}

#[test]
fn useless_columns_are_named_with_a_reason() {
    let ids: Vec<String> = (0..300).map(|i| format!("user-{i}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (name, values, reason) in [
        ("id", vec!["1", "2", "3", "4"], "row number"),
        ("a", vec!["", "NA"], "no values"),
        ("a", vec!["7", "7", "7"], "the same"),
        ("a", vec!["x", "x"], "the same"),
        ("name", ids, "there once only"),
    ] {
        let table = learn(name, &values).unwrap();
        assert!(table.columns.is_empty(), "{name}");
        assert!(table.ignored[0].reason.contains(reason), "{:?}", table.ignored);
    }
    // Not every column that counts is a row number.
    assert_eq!(learn("age", &["1", "2", "3", "4"]).unwrap().width(), 1);
}

#[test]
fn a_stray_word_among_numbers_is_named() {
    let mut values = vec!["1"; 50];
    values[7] = "l0";
    let error = learn("a", &values).unwrap_err();
    assert!(error.reason.contains("`l0` is not a number"), "{}", error.reason);
}

#[test]
fn numbers_in_another_notation_are_no_categories() {
    type Written = fn(usize) -> String;
    let column = |written: Written| (0..50).map(written).collect::<Vec<String>>();
    let numbers: [Written; 4] = [
        |i| format!("{i},5"),
        |i| format!("{} %", i * 2),
        |i| format!("-1 {:03}", i),
        |i| if i < 10 { i.to_string() } else { format!("$1,{i:03}") },
    ];
    for written in numbers {
        let values = column(written);
        let error = learn("a", &values.iter().map(String::as_str).collect::<Vec<_>>()).unwrap_err();
        assert!(error.reason.contains("looks like a number"), "{}", error.reason);
    }
    let categories: [Written; 4] = [
        |i| format!("{} %", i % 5),
        |i| format!("{:02}.11.2026", i % 30),
        |i| format!("2026-11-{:02}", i % 25),
        |i| format!("A{}", i % 25),
    ];
    for written in categories {
        let values = column(written);
        let table = learn("a", &values.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert!(matches!(table.columns[0].encoding, Encoding::Category { .. }), "{values:?}");
    }
}

#[test]
fn columns_come_in_any_order_and_have_to_be_there() {
    let names = ["a", "b"].map(str::to_string);
    let rows: Vec<Vec<Cell>> =
        ["1", "2", "3"].iter().map(|v| vec![text(v), text(&format!("{v}0"))]).collect();
    let table = TablePreparation::learn(&names, &rows, &[]).unwrap();
    let turned = ["z", "b", "a"].map(str::to_string);
    let places = table.locate(&turned).unwrap();
    let one = table.encode(&places, &[text("?"), text("30"), text("1")]).unwrap();
    let other = table.encode(&[0, 1], &[text("1"), text("30")]).unwrap();
    assert_eq!(one, other);
    assert_eq!(table.locate(&["b".to_string()]).unwrap_err().column, "a");
}

#[test]
fn what_training_never_had_is_odd() {
    let oddity = |table: &TablePreparation, value| {
        let (_, oddity) = table.encode(&[0], &[text(value)]).unwrap();
        oddity.map(|reason| reason.to_string())
    };
    let complete = learn("a", &["1", "2", "3"]).unwrap();
    assert_eq!(oddity(&complete, "NA").unwrap(), "missing_value: column `a`");
    assert_eq!(oddity(&complete, "9"), None);
    let gaps = learn("a", &["1", "", "3"]).unwrap();
    assert_eq!(oddity(&gaps, "NA"), None);
    let colours = learn("a", &["red", "blue", "red", "blue"]).unwrap();
    assert_eq!(oddity(&colours, "green").unwrap(), "unseen_category: column `a`");
    assert_eq!(oddity(&colours, "").unwrap(), "missing_value: column `a`");
    // A value that was there once has no place of its own, and neither has another: the model has
    // learned about such rows.
    let rare = learn("a", &["red", "blue", "red", "blue", "green"]).unwrap();
    assert_eq!(oddity(&rare, "violet"), None);
}

#[test]
fn numbers_beyond_f32_are_named() {
    let table = learn("a", &["1", "2", "3"]).unwrap();
    let error = table.encode(&[0], &[text("1e39")]).unwrap_err();
    assert!(error.reason.contains("too large a number"), "{}", error.reason);
}

#[test]
fn a_boolean_is_a_number_only_among_zeros_and_ones() {
    let learned = |values: &[Cell]| {
        let rows: Vec<Vec<Cell>> = values.iter().map(|value| vec![value.clone()]).collect();
        TablePreparation::learn(&["a".to_string()], &rows, &[])
    };
    let truth = |table: &TablePreparation| table.encode(&[0], &[Cell::Bool(true)]);
    let of = |values: &[f64]| {
        learned(&values.iter().map(|&value| Cell::Number(value)).collect::<Vec<_>>()).unwrap()
    };
    assert!(truth(&of(&[0.0, 1.0, 1.0])).is_ok());
    // So rare that the column is taken by its logarithm.
    assert!(truth(&of(&[&[1.0][..], &[0.0; 30]].concat())).is_ok());
    for numbers in [&[1.0, 2.0, 3.0][..], &[0.0, 1.0, 2.0], &[0.1, 0.4, 0.9, 0.3]] {
        let error = truth(&of(numbers)).unwrap_err();
        assert!(error.reason.contains("`true` is not a number"), "{}", error.reason);
    }
    assert!(
        truth(&learned(&[Cell::Bool(true), Cell::Bool(false), Cell::Number(1.0)]).unwrap()).is_ok()
    );
    let mut mixed = vec![Cell::Number(7.0); 40];
    mixed.extend([Cell::Number(8.0), Cell::Bool(true)]);
    assert!(learned(&mixed).unwrap_err().reason.contains("`true` is not a number"));
}
