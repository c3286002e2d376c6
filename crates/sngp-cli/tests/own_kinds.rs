//! Kinds of own data through the binary: texts, vectors, numbers and images.

mod common;

use std::fs;
use std::path::Path;

use common::desk::{Desk, column, npy, numbers};
use common::{run, sngp, text};
use sngp::method::Method;

#[test]
fn texts_need_no_download() {
    let desk = Desk::new();
    let row = |i: usize| match i % 2 {
        0 => format!("\"please tell me the balance of account {i}\",balance"),
        _ => format!("\"book a flight number {i} to the sea\",flight"),
    };
    let rows: Vec<String> = (0..80).map(row).collect();
    desk.write("intents.csv", format!("sentence,intent\n{}\n", rows.join("\n")));
    let output = run(&mut desk.command("train --data intents.csv --label intent --features 64"), 0);
    assert!(text(&output.stderr).contains("taken as texts in `sentence`"));
    let mut command = sngp();
    command.current_dir(desk.folder.path()).args([
        "predict",
        "intents-model",
        "--text",
        "please tell me the balance of account 8",
        "--text",
        "zzz qqq 🙂",
    ]);
    let csv = text(&run(&mut command, 0).stdout);
    assert_eq!(column(&csv, "predicted")[0], "balance");
    assert_eq!(column(&csv, "reason"), ["", "unknown_words"], "{csv}");
    assert_eq!(column(&csv, "decision"), ["accept", "abstain"], "{csv}");

    let encoder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../sngp/tests/golden/encoders/tiny-bert");
    for (more, fit) in [("", "frozen encoder"), ("--fine-tune --epochs 1", "encoder and output")] {
        let line = format!(
            "train --data intents.csv --label intent --features 32 --out deep --force {more} --encoder {}",
            encoder.display()
        );
        let said = desk.run(&line);
        assert!(said.contains(fit), "{said}");
        let csv = desk.run("predict deep --data intents.csv");
        assert_eq!(column(&csv, "predicted").len(), 80);
        desk.run("evaluate deep --data intents.csv --out deep-report --quiet");
        let said = desk.run("update deep --data intents.csv --out deeper --force");
        assert!(said.contains("it answers nothing: the model has changed"), "{said}");
    }
}

#[test]
fn vectors_come_as_arrays_and_lists() {
    let desk = Desk::new();
    let vector = |i: usize| {
        let turn = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        vec![turn + (i * 7 % 5) as f32 / 10.0, 1.0, turn * 0.5, (i * 3 % 4) as f32 / 9.0]
    };
    let rows: Vec<Vec<f32>> = (0..60).map(vector).collect();
    desk.write("x.npy", npy(&rows));
    let labels: Vec<&str> = (0..60).map(|i| ["up", "down"][i % 2]).collect();
    desk.write("y.txt", labels.join("\n"));
    desk.run("train --data x.npy --label y.txt --features 32 --out model");
    let csv = desk.run("predict model --data x.npy");
    assert_eq!(column(&csv, "predicted"), labels);
    let lines: Vec<String> = rows
        .iter()
        .zip(&labels)
        .map(|(row, label)| format!("{{\"v\": {row:?}, \"label\": \"{label}\"}}"))
        .collect();
    desk.write("x.jsonl", lines.join("\n"));
    desk.run("train --data x.jsonl --features 32 --out lists");
    let csv = desk.run("predict lists --data x.jsonl --format jsonl");
    assert!(csv.contains("\"predicted\":\"up\""), "{csv}");
    for method in Method::all() {
        let line = format!(
            "train --data x.npy --label y.txt --method {method} --epochs 2 --out m --force"
        );
        desk.run(&line);
        let csv = desk.run("predict m --data x.npy");
        assert_eq!(numbers(&csv, "probability").len(), 60, "{method}");
        if method.name() == "exact_gp" {
            assert_eq!(column(&csv, "predicted"), labels);
        }
    }
    desk.write("nan.npy", npy(&[vec![1.0, f32::NAN, 0.0, 0.0]]));
    let csv = desk.run("predict model --data nan.npy");
    assert!(column(&csv, "reason")[0].contains("NaN is not a finite number"), "{csv}");
    let error = desk.fails("predict model --data nan.npy --strict");
    assert!(error.contains("row 1: invalid_input"), "{error}");
    let error = desk.fails("train --data nan.npy --label y.txt --out refused");
    assert!(error.contains("nan.npy"), "{error}");
    desk.write("wide.npy", npy(&[vec![1.0; 7]]));
    assert!(desk.fails("predict model --data wide.npy").contains("expected 4"));
    desk.write("cut.npy", &npy(&rows)[..200]);
    assert!(desk.fails("predict model --data cut.npy").contains("cut.npy"));
}

#[test]
fn numbers_have_intervals() {
    let desk = Desk::new();
    let row = |i: usize| {
        let x = i as f64 / 40.0;
        format!("{x},{}", 100.0 + 30.0 * (2.0 * x).sin() + (i * 7919 % 13) as f64 / 3.0)
    };
    let rows: Vec<String> = (0..400).map(row).collect();
    desk.write("curve.csv", format!("x,y\n{}\n", rows.join("\n")));
    desk.run("train --data curve.csv --label y --task regression --features 128 --out model");
    let csv = desk.run("predict model --data curve.csv");
    let (low, high) = (numbers(&csv, "low"), numbers(&csv, "high"));
    let truth = numbers(&csv, "y");
    let inside = (0..400).filter(|&i| (low[i]..=high[i]).contains(&truth[i])).count();
    // 90 % are promised, and most of these rows were learned from.
    assert!((340..=396).contains(&inside), "{inside}");
    desk.write("far.csv", "x\n1\n500\n");
    let csv = desk.run("predict model --data far.csv");
    assert_eq!(column(&csv, "decision"), ["accept", "abstain"], "{csv}");
    let said = desk.run("evaluate model --data curve.csv");
    assert!(said.contains("interval_coverage"), "{said}");
    assert!(desk.fails("calibrate model --data curve.csv --max-error 0.1").contains("for classes"));
}

#[test]
fn images_come_in_folders() {
    let desk = Desk::new();
    for (class, shade) in [("dark", 30u8), ("light", 220)] {
        fs::create_dir_all(desk.path("photos").join(class)).unwrap();
        for i in 0..12u8 {
            let mut bytes = Vec::new();
            let mut encoder = png::Encoder::new(&mut bytes, 8, 8);
            encoder.set_color(png::ColorType::Grayscale);
            let pixels: Vec<u8> = (0..64).map(|p| shade + (p * i) % 20).collect();
            encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
            fs::write(desk.path(&format!("photos/{class}/{i}.png")), bytes).unwrap();
        }
    }
    let output = run(
        &mut desk
            .command("train --data photos --image-size 8 --features 16 --epochs 2 --out model"),
        0,
    );
    assert!(text(&output.stderr).contains("taken as images in `path`"));
    let csv = desk.run("predict model --data photos");
    assert_eq!(column(&csv, "path").len(), 24);
    desk.run("evaluate model --data photos --out report");
    assert!(desk.read("report/report.html").contains("data:image/png;base64"));
}
