//! Model folders of format version 1, written by the program before there was a version 2, answer
//! what they answered then.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use sngp_pipeline::input::{Dataset, Place};
use sngp_pipeline::{Answer, Outcome, Pipeline};
use sngp_records::{Cell, Format, Header, ReadOptions, Records};

fn place(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/folders").join(part)
}

fn load(name: &str) -> Pipeline {
    Pipeline::load(place("models").join(name), &Device::flex()).unwrap()
}

/// The answers' columns by name, a text a row.
fn column(records: &(Vec<String>, Vec<Vec<Cell>>), name: &str) -> Vec<String> {
    let place = records.0.iter().rposition(|column| column == name).expect(name);
    records.1.iter().map(|row| row[place].to_field().into_owned()).collect()
}

fn read(path: &Path) -> (Vec<String>, Vec<Vec<Cell>>) {
    let mut records = Records::open(path).unwrap();
    (records.columns().to_vec(), records.next_cells(1000).unwrap().unwrap())
}

/// The answers were written with AVX2. Wider registers sum in another order, which a fine-tuned
/// encoder carries on to the sixth digit.
fn tolerance() -> f64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        return 4e-6;
    }
    1e-6
}

fn close(found: Option<f64>, known: &str, what: &str) {
    match found {
        None => assert_eq!(known, "", "{what}"),
        Some(found) => {
            let known: f64 = known.parse().unwrap_or_else(|_| panic!("{what}: `{known}`"));
            assert!(
                (found - known).abs() <= tolerance() * known.abs().max(1.0),
                "{what}: {found} {known}"
            );
        }
    }
}

fn same(name: &str, answers: &[Answer], known: &(Vec<String>, Vec<Vec<Cell>>)) {
    assert_eq!(answers.len(), known.1.len(), "{name}");
    let predicted =
        column(known, if known.0.contains(&"predicted".into()) { "predicted" } else { "label" });
    let (uncertainty, decision) = (column(known, "uncertainty"), column(known, "decision"));
    for (row, answer) in answers.iter().enumerate() {
        let what = format!("{name}, row {row}");
        match &answer.outcome {
            Some(Outcome::Class { label, probability, .. }) => {
                assert_eq!(*label, predicted[row], "{what}");
                close(Some(*probability), &column(known, "probability")[row], &what);
            }
            Some(Outcome::Number { value, low, high }) => {
                close(Some(*value), &predicted[row], &what);
                close(*low, &column(known, "low")[row], &what);
                close(*high, &column(known, "high")[row], &what);
            }
            None => assert_eq!(predicted[row], "", "{what}"),
        }
        close(answer.uncertainty, &uncertainty[row], &what);
        let reason = answer.reason().unwrap_or_default();
        // Input with nothing known in it was accepted then: the one thing that had to change.
        if ["empty_input", "unknown_words"].contains(&reason.as_str()) {
            continue;
        }
        assert_eq!(answer.decision(), decision[row], "{what}: {:?}", answer.reason());
        if known.0.contains(&"reason".into()) {
            assert_eq!(reason, column(known, "reason")[row], "{what}");
        }
    }
}

#[test]
fn models_of_every_kind_answer_as_they_did() {
    for (name, rows) in [
        ("table", "table-new.csv"),
        ("table-deterministic", "table-new.csv"),
        ("table-exact-gp", "table-new.csv"),
        ("regression", "houses-new.csv"),
        ("text", "intents-new.csv"),
        ("encoder", "intents-new.csv"),
        ("encoder-tuned", "intents-new.csv"),
        ("vectors", "vectors-new.npy"),
        ("images", "photos-new"),
    ] {
        let place_of_rows = place("rows").join(rows).display().to_string();
        let set = Dataset::read(&Place::parse(&place_of_rows), None, false).unwrap();
        let answers = load(name).answer(&set).unwrap();
        same(name, &answers, &read(&place("answers").join(format!("{name}.csv"))));
    }
}

#[test]
fn networks_without_a_card_answer_as_they_did() {
    for (name, rows, format) in [
        ("plain-rows", "plain-rows.csv", Format::Csv),
        ("plain-text", "plain-text.txt", Format::Lines),
    ] {
        let pipeline = load(name);
        let columns = pipeline.card().preparation.columns();
        let columns: Vec<String> = columns.iter().map(|column| column.to_string()).collect();
        let header = Header::None { columns: columns.clone() };
        let options = ReadOptions { format: Some(format), header, keep_originals: false };
        let mut records = Records::open_with(place("rows").join(rows), options).unwrap();
        let cells = records.next_cells(100).unwrap().unwrap();
        let answers = pipeline.answer(&Dataset::of_cells(columns, cells).unwrap()).unwrap();
        same(name, &answers, &read(&place("answers").join(format!("{name}.jsonl"))));
    }
}

/// What is saved today says so, and a program of today reads both.
#[test]
fn saving_an_old_model_makes_it_a_new_one_with_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    load("table").save(&path).unwrap();
    let manifest = std::fs::read_to_string(path.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"format_version\": 2"), "{manifest}");
    let rows = place("rows").join("table-new.csv").display().to_string();
    let set = Dataset::read(&Place::parse(&rows), None, false).unwrap();
    let again = Pipeline::load(&path, &Device::flex()).unwrap().answer(&set).unwrap();
    assert_eq!(again, load("table").answer(&set).unwrap());
    std::fs::write(
        path.join("manifest.json"),
        manifest.replace("\"format_version\": 2", "\"format_version\": 3"),
    )
    .unwrap();
    let error = Pipeline::load(&path, &Device::flex()).err().unwrap().to_string();
    assert!(error.contains("reads up to 2; install the version"), "{error}");
}
