//! Somebody's own data through the binary: train, evaluate, calibrate, predict, update, merge.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{run, sngp, text};
use serde_json::Value;

struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut command = sngp();
        command.current_dir(self.folder.path()).args(line.split_whitespace());
        command
    }

    fn run(&self, line: &str) -> String {
        text(&run(&mut self.command(line), 0).stdout)
    }

    fn fails(&self, line: &str) -> String {
        let output = run(&mut self.command(line), 1);
        assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
        text(&output.stderr)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A table of two kinds of flowers with a category and some holes.
    fn flowers(&self) {
        let row = |i: usize| {
            let kind = i % 2;
            let length = 1.0 + 3.0 * kind as f64 + (i * 37 % 11) as f64 / 20.0;
            let width =
                if i % 13 == 5 { String::new() } else { format!("{}", (i * 17 % 7) as f64) };
            let colour = ["red", "blue", "white"][(i * 31 + kind) % 3];
            format!("{i},{length},{width},{colour},{}", ["daisy", "tulip"][kind])
        };
        let table = |rows: std::ops::Range<usize>| {
            let rows: Vec<String> = rows.map(row).collect();
            format!("id,length,width,colour,kind\n{}\n", rows.join("\n"))
        };
        self.write("flowers.csv", table(0..200));
        self.write("test.csv", table(200..320));
    }

    fn trained(&self) {
        self.flowers();
        self.run("train --data flowers.csv --label kind --features 64 --out model --quiet");
    }
}

/// The cells of a CSV file by column.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let place = reader.headers().unwrap().iter().position(|header| header == name).unwrap();
    reader.records().map(|record| record.unwrap()[place].to_string()).collect()
}

fn numbers(csv: &str, name: &str) -> Vec<f64> {
    column(csv, name).iter().map(|cell| cell.parse().unwrap()).collect()
}

/// A `.npy` file of f32 rows.
fn npy(rows: &[Vec<f32>]) -> Vec<u8> {
    let mut header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
        rows.len(),
        rows[0].len()
    );
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(rows.iter().flatten().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[test]
fn a_table_becomes_a_model_that_abstains() {
    let desk = Desk::new();
    desk.flowers();
    let output = run(
        &mut desk.command("train --data flowers.csv --label kind --features 64 --out model"),
        0,
    );
    let (said, remarks) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("it abstains when dempster_shafer is above"), "{said}");
    assert!(remarks.contains("taken as a table"), "{remarks}");
    assert!(remarks.contains("column `id` is not used: it looks like a row number"), "{remarks}");
    assert!(remarks.contains("missing in 1 columns, most in `width`"), "{remarks}");

    // Raw rows, columns in another order, one more column; the order is kept.
    desk.write(
        "new.csv",
        "note,colour,width,length\nnear,red,3,1.2\nfar,red,3,900\nbroken,red,3,tall\nragged,red\nother,green,,4.2\n",
    );
    let csv = desk.run("predict model --data new.csv");
    assert_eq!(column(&csv, "note"), ["near", "far", "broken", "ragged", "other"]);
    assert_eq!(column(&csv, "predicted")[0], "daisy");
    assert_eq!(column(&csv, "predicted")[4], "tulip");
    let decisions = column(&csv, "decision");
    assert_eq!((&*decisions[0], &*decisions[1]), ("accept", "abstain"), "{csv}");
    let reasons = column(&csv, "reason");
    assert_eq!(reasons[1], "far_from_data");
    assert!(reasons[2].starts_with("invalid_input: column `length`: `tall` is not"), "{csv}");
    assert!(reasons[3].starts_with("invalid_input: line 5"), "{csv}");
    let error = desk.fails("predict model --data new.csv --strict --out strict.csv");
    assert!(error.contains("new.csv, row 4") || error.contains("new.csv, row 3"), "{error}");
    assert!(!desk.path("strict.csv").exists());

    // The same answers by every format, and from standard input.
    desk.run("predict model --data new.csv --out new.parquet");
    desk.run("predict model --data new.parquet --out again.jsonl");
    let first: Value =
        serde_json::from_str(desk.read("again.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(first["predicted"], "daisy");
    assert_eq!(first["predicted_"], "daisy", "{first}");
    let mut child = desk
        .command("predict model --data - --format csv")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(desk.read("new.csv").as_bytes()).unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), csv);

    let words = desk.run("inspect model");
    assert!(words.contains("This model tells 2 classes apart, from a table"), "{words}");
    assert!(words.contains("It learned from 160 rows of flowers.csv"), "{words}");
}

#[test]
fn the_evidence_is_one_page() {
    let desk = Desk::new();
    desk.trained();
    desk.write("strange.csv", "length,width,colour\n900,1,red\n-400,2,blue\n5e4,3,white\n");
    let said = desk.run(
        "evaluate model --data test.csv --ood strange.csv --shift test.csv --reference flowers.csv",
    );
    for part in ["accuracy", "auroc by dempster_shafer", "auroc by relative_mahalanobis", "answers"]
    {
        assert!(said.contains(part), "{said}");
    }
    let page = desk.read("model-report/report.html");
    assert!(page.contains("<svg") && page.contains("tulip"));
    assert!(!page.contains("http://") && !page.contains("https://"), "it needs nothing else");
    for file in ["reliability", "risk_coverage", "roc", "precision_recall", "histogram"] {
        assert!(desk.path(&format!("model-report/{file}.png")).is_file(), "{file}");
        assert!(desk.path(&format!("model-report/{file}.svg")).is_file(), "{file}");
    }
    let metrics: Value =
        serde_json::from_str(&desk.run("evaluate model --data test.csv --json --quiet")).unwrap();
    assert_eq!(metrics[0]["name"], "accuracy");
    assert!(metrics[0]["low"].as_f64() <= metrics[0]["value"].as_f64());
    // Somebody's folder is left alone.
    fs::create_dir(desk.path("mine")).unwrap();
    desk.write("mine/notes.txt", "x");
    assert!(desk.fails("evaluate model --data test.csv --out mine").contains("mine"));
}

#[test]
fn a_threshold_is_chosen_by_the_risk() {
    let desk = Desk::new();
    desk.trained();
    let said = desk.run("calibrate model --data test.csv --max-error 0.1 --confidence 0.9");
    assert!(said.contains("at most 10 % of the accepted examples are wrong"), "{said}");
    let error = desk.fails("calibrate model --data test.csv --max-error 0.001");
    assert!(error.contains("not reachable with 120 examples; at best"), "{error}");
    let said = desk.run(
        "calibrate model --data test.csv --tune-factor --max-abstain 0.2 --score variance --json",
    );
    let told: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(told["decision"]["score"]["name"], "variance");
    assert!(desk.run("inspect model").contains("20 % of examples"));
    assert!(desk.fails("calibrate model --data test.csv").contains("say what is accepted"));
}

#[test]
fn rows_are_added_forgotten_and_merged() {
    let desk = Desk::new();
    desk.trained();
    let uncertainty = |model: &str| {
        desk.run(&format!("calibrate {model} --data test.csv --max-abstain 0.5 --score variance"));
        numbers(&desk.run(&format!("predict {model} --data test.csv")), "uncertainty")
    };
    let before = uncertainty("model");
    let said = desk.run("update model --data test.csv --out updated");
    assert!(said.contains("120 rows added; the posterior now has 280"), "{said}");
    let after = uncertainty("updated");
    assert!(after.iter().zip(&before).all(|(after, before)| after < before));
    desk.run("update updated --data test.csv --forget");
    for (restored, before) in uncertainty("updated").iter().zip(&before) {
        assert!((restored - before).abs() < 1e-6, "{restored} {before}");
    }
    desk.run("update model --data test.csv --decay 0.5 --out faded");

    // Shards of the training rows give the model's own posterior again.
    let rows = desk.read("flowers.csv");
    let lines: Vec<&str> = rows.lines().collect();
    desk.write("a.csv", [&lines[..1], &lines[1..60]].concat().join("\n"));
    desk.write("b.csv", [&lines[..1], &lines[60..]].concat().join("\n"));
    desk.run("precision model --data a.csv --out a.precision");
    desk.run("precision model --data b.csv --out b.precision");
    desk.run("precision model --data flowers.csv --out whole.precision");
    desk.run("merge model a.precision b.precision --out merged");
    desk.run("merge model whole.precision --out whole");
    for (one, other) in uncertainty("merged").iter().zip(&uncertainty("whole")) {
        assert!((one - other).abs() < 1e-6, "{one} {other}");
    }
    desk.run("train --data test.csv --label kind --features 32 --out other --quiet");
    assert!(desk.fails("merge other a.precision --out x").contains("another feature map"));
    assert!(!desk.path("x").exists());
    desk.write("junk.precision", "junk");
    assert!(desk.fails("merge model junk.precision --out x").contains("junk.precision"));
}

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
        "the balance please",
        "--text",
        "zzz qqq 🙂",
    ]);
    let csv = text(&run(&mut command, 0).stdout);
    assert_eq!(column(&csv, "predicted")[0], "balance");
    let uncertainty = numbers(&csv, "uncertainty");
    assert!(uncertainty[1] > uncertainty[0], "{csv}");

    let encoder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../sngp/tests/golden/encoders/tiny-bert");
    for (more, fit) in [("", "frozen encoder"), ("--fine-tune --epochs 1", "encoder and output")] {
        let line = format!(
            "train --data intents.csv --label intent --features 32 --out deep {more} --encoder {}",
            encoder.display()
        );
        let said = desk.run(&line);
        assert!(said.contains(fit), "{said}");
        let csv = desk.run("predict deep --data intents.csv");
        assert_eq!(column(&csv, "predicted").len(), 80);
        desk.run("evaluate deep --data intents.csv --out deep-report --quiet");
        desk.run("update deep --data intents.csv --out deeper");
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
    for method in ["deterministic", "mc_dropout", "duq"] {
        let line = format!("train --data x.npy --label y.txt --method {method} --epochs 2 --out m");
        desk.run(&line);
        desk.run("predict m --data x.npy");
    }
    desk.write("nan.npy", npy(&[vec![1.0, f32::NAN, 0.0, 0.0]]));
    let error = desk.fails("predict model --data nan.npy");
    assert!(error.contains("nan.npy") && error.contains("row 1"), "{error}");
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
    assert!((320..=400).contains(&inside), "{inside}");
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

fn complaint(desk: &Desk, name: &str, content: &[u8]) -> String {
    desk.write(name, content);
    desk.fails(&format!("train --data {name} --label kind --out refused"))
}

#[test]
fn bad_data_is_refused_with_its_place() {
    let desk = Desk::new();
    desk.trained();
    for (name, content, expected) in [
        ("empty.csv", &b""[..], "empty.csv is empty"),
        ("header.csv", b"a,kind\n", "no rows"),
        ("ragged.csv", b"a,kind\n1,x\n2\n3,y\n", "ragged.csv, row 2"),
        ("bare.csv", b"1,2\n3,4\n", "header seems to be missing"),
        ("inf.csv", b"a,kind\n1,x\ninf,y\n2,x\n3,y\n", "column `a`: inf is not a finite number"),
        ("one.csv", b"a,kind\n1,x\n2,x\n3,x\n4,x\n", "one class"),
        ("hole.csv", b"a,kind\n1,x\n2,\n", "row 2: no label"),
        ("ids.csv", b"a,kind\n1,p\n2,q\n3,r\n4,s\n", "is this the right column"),
        ("semi.csv", b"a;b;klass\n1;2;x\n3;4;y\n", "no column `kind`; there are a, b, klass"),
        ("cut.parquet", b"PAR1....", "cut.parquet"),
        ("odd.xlsx", b"..", "unknown extension"),
    ] {
        let error = complaint(&desk, name, content);
        assert!(error.contains(expected), "{name}: {error}");
        assert!(!desk.path("refused").exists(), "{name}");
    }
    let unknown = desk.read("test.csv").replace("tulip", "cactus");
    desk.write("unknown.csv", unknown);
    let error = desk.fails("evaluate model --data unknown.csv");
    assert!(error.contains("unknown.csv, row 2: label `cactus` is none of the 2"), "{error}");
    desk.write("missing.csv", "length,colour\n1,red\n");
    let error = desk.fails("predict model --data missing.csv --out out.csv");
    assert!(error.contains("column `width`: the model needs this column"), "{error}");
    assert!(!desk.path("out.csv").exists());
    desk.write("x.npy", npy(&[vec![1.0, 2.0]]));
    assert!(desk.fails("predict model --data x.npy").contains("the model takes a table"));
    assert!(desk.fails("evaluate . --data test.csv").contains("made by `sngp train`"));
    assert!(desk.fails("train --data gone.csv").contains("gone.csv"));
}

#[test]
fn the_same_command_gives_the_same_model() {
    let desk = Desk::new();
    desk.flowers();
    let bytes = |out: &str| {
        desk.run(&format!(
            "train --data flowers.csv --label kind --features 64 --out {out} --quiet"
        ));
        fs::read(desk.path(out).join("model.safetensors")).unwrap()
    };
    assert!(bytes("one") == bytes("two"));
    let _: Output = run(
        &mut desk.command("train --data flowers.csv --label kind --tune --features 32 --out tuned"),
        0,
    );
}
