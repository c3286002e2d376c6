//! Somebody's own data through the binary: train, evaluate, calibrate, predict, update, merge.

mod common;

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

use common::desk::{Desk, column, npy, numbers};
use common::{run, text};
use serde_json::Value;

#[test]
fn a_table_becomes_a_model_that_abstains() {
    let desk = Desk::new();
    desk.flowers();
    let output = run(
        &mut desk.command("train --data flowers.csv --label kind --features 64 --out model"),
        0,
    );
    let (said, remarks) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("it answers when combined is at most"), "{said}");
    assert!(said.contains("it abstains from inputs unlike the training data"), "{said}");
    assert!(remarks.contains("taken as a table"), "{remarks}");
    assert!(remarks.contains("column `id`: not used: it looks like a row number"), "{remarks}");
    assert!(remarks.contains("column `width`: number, 8.8 % missing"), "{remarks}");
    assert!(remarks.contains("column `colour`: 3 categories"), "{remarks}");

    // Raw rows, columns in another order, one more column; the order is kept.
    desk.write(
        "new.csv",
        "note,colour,width,length\nnear,red,3,1.2\nfar,red,3,900\nbroken,red,3,tall\nragged,red\n\
         other,green,,4.2\nempty,,,\nhuge,red,3,1e39\n",
    );
    let csv = desk.run("predict model --data new.csv");
    let notes = ["near", "far", "broken", "ragged", "other", "empty", "huge"];
    assert_eq!(column(&csv, "note"), notes);
    assert_eq!(column(&csv, "predicted")[0], "daisy");
    assert_eq!(column(&csv, "predicted")[4], "tulip");
    let decisions = column(&csv, "decision");
    assert_eq!((&*decisions[0], &*decisions[1]), ("accept", "abstain"), "{csv}");
    let reasons = column(&csv, "reason");
    assert_eq!(reasons[1], "far_from_data");
    assert!(reasons[2].starts_with("invalid_input: column `length`: `tall` is not"), "{csv}");
    assert!(reasons[3].starts_with("invalid_input: line 5"), "{csv}");
    assert_eq!(reasons[4], "unseen_category: column `colour`");
    assert_eq!(reasons[5], "missing_value: column `length`");
    assert!(reasons[6].contains("too large a number"), "{csv}");
    assert_eq!(decisions.iter().filter(|decision| *decision == "accept").count(), 1);
    let error = desk.fails("predict model --data new.csv --strict --out strict.csv");
    assert!(error.contains("row 3: invalid_input: column `length`"), "{error}");
    assert!(!desk.path("strict.csv").exists());

    // The same answers by every format, and from standard input.
    desk.run("predict model --data new.csv --out new.parquet");
    desk.run("predict model --data new.parquet --out again.jsonl");
    let first: Value =
        serde_json::from_str(desk.read("again.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(first["predicted"], "daisy");
    // What an earlier run said keeps another name, never that of an answer.
    assert_eq!(first["predicted_"], "daisy", "{first}");
    assert_eq!(first.as_object().unwrap().keys().filter(|key| *key == "decision").count(), 1);
    assert_eq!(first["decision_"], "accept", "{first}");
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
    let said = desk.run("evaluate model --data test.csv --ood strange.csv --shift test.csv");
    for part in ["accuracy", "auroc by combined", "answers"] {
        assert!(said.contains(part), "{said}");
    }
    let page = desk.read("model-report/report.html");
    assert!(page.contains("<svg") && page.contains("tulip"));
    assert!(page.contains("relative_mahalanobis"), "other detectors to compare with");
    assert!(!page.contains("http://") && !page.contains("https://"), "it needs nothing else");
    for file in ["reliability", "risk_coverage", "roc", "precision_recall", "histogram"] {
        assert!(desk.path(&format!("model-report/{file}.png")).is_file(), "{file}");
        assert!(desk.path(&format!("model-report/{file}.svg")).is_file(), "{file}");
    }
    let told: Value =
        serde_json::from_str(&desk.run("evaluate model --data test.csv --json --quiet")).unwrap();
    assert_eq!(told["schema"], 1);
    let metrics = &told["metrics"];
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
    assert!(error.contains("not reachable with 120 examples; "), "{error}");
    let said = desk.run(
        "calibrate model --data test.csv --tune-factor --max-abstain 0.2 --score variance --json",
    );
    let told: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(told["decision"]["score"]["name"], "variance");
    assert!(desk.run("inspect model").contains("20 % of examples"));
    // Where one class is answered less often than the other, it is named.
    let accepted: Vec<u64> = told["classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["accepted"].as_u64().unwrap())
        .collect();
    assert_eq!(accepted.len(), 2);
    let said = desk.run("calibrate model --data test.csv --max-abstain 0.2 --score variance");
    assert_eq!(said.contains("of these rows; least of"), accepted[0] != accepted[1], "{said}");
    assert!(desk.fails("calibrate model --data test.csv").contains("say what is accepted"));
}

#[test]
fn rows_are_added_forgotten_and_merged() {
    let desk = Desk::new();
    desk.trained();
    let uncertainty = |model: &str| {
        desk.run(&format!("calibrate {model} --data fresh.csv --max-abstain 0.5 --score variance"));
        numbers(&desk.run(&format!("predict {model} --data test.csv")), "uncertainty")
    };
    let before = uncertainty("model");
    let said = desk.run("update model --data test.csv --out updated");
    assert!(said.contains("it answers when variance is at most"), "{said}");
    assert!(said.contains("120 rows added; the posterior now has 280"), "{said}");
    let after = uncertainty("updated");
    assert!(after.iter().zip(&before).all(|(after, before)| after < before));
    desk.run("update updated --data test.csv --forget");
    for (restored, before) in uncertainty("updated").iter().zip(&before) {
        assert!((restored - before).abs() < 1e-6, "{restored} {before}");
    }
    desk.run("update model --data test.csv --decay 0.5 --out faded");
    let faded = uncertainty("faded");
    // Half of what was known is gone, 120 rows have come: less certain than with both in full.
    assert!(faded.iter().zip(&after).all(|(faded, full)| faded > full));
    let error = desk.fails("update model --data test.csv --forget");
    assert!(error.contains("120 of 120 rows are not in the posterior"), "{error}");

    // Shards of the training rows give the model's own posterior again.
    let rows = desk.read("flowers.csv");
    let lines: Vec<&str> = rows.lines().collect();
    desk.write("a.csv", [&lines[..1], &lines[1..60]].concat().join("\n"));
    desk.write("b.csv", [&lines[..1], &lines[60..]].concat().join("\n"));
    desk.run("precision model --data a.csv --out a.precision");
    desk.run("precision model --data b.csv --out b.precision");
    desk.run("precision model --data flowers.csv --out whole.precision");
    let error = desk.fails("precision model --data a.csv --out a.csv");
    assert!(error.contains("is the data itself"), "{error}");
    let error = desk.fails("merge model a.precision b.precision a.precision --out merged");
    assert!(error.contains("part 3 is there twice"), "{error}");
    desk.run("merge model a.precision b.precision --out merged");
    let error = desk.fails("merge model a.precision --out merged");
    assert!(error.contains("--force"), "{error}");
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
    let output = run(&mut desk.command("evaluate model --data unknown.csv"), 0);
    let remark = text(&output.stderr);
    assert!(
        remark.contains("60 rows have labels that are no class here: `cactus` (60)"),
        "{remark}"
    );
    let error = desk.fails("evaluate model --data unknown.csv --strict");
    assert!(error.contains("cactus"), "{error}");
    desk.write("missing.csv", "length,colour\n1,red\n");
    let error = desk.fails("predict model --data missing.csv --out out.csv");
    assert!(error.contains("column `width`: the model needs this column"), "{error}");
    assert!(!desk.path("out.csv").exists());
    desk.write("x.npy", npy(&[vec![1.0, 2.0]]));
    assert!(desk.fails("predict model --data x.npy").contains("the model takes a table"));
    assert!(desk.fails("evaluate . --data test.csv").contains("no manifest.json"));
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
    let tuned: Output = run(
        &mut desk.command("train --data flowers.csv --label kind --tune --features 32 --out tuned"),
        0,
    );
    let tried = text(&tuned.stderr).matches("held-out loss").count();
    assert_eq!(tried, 7, "five length scales, and two more priors");
    let error = desk.fails("train --data flowers.csv --label kind --out tuned");
    assert!(error.contains("--force replaces it"), "{error}");
    desk.run("train --data flowers.csv --label kind --features 32 --out tuned --force");
}
