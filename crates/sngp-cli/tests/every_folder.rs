//! The command's output file and the library's answers are the same, for a model of every kind.

mod common;

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use common::{run, sngp};
use sngp_pipeline::input::{Dataset, Place};
use sngp_pipeline::{Outcome, Pipeline};
use sngp_records::{Cell, Records};

fn place(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sngp-pipeline/tests/folders").join(part)
}

#[test]
fn the_command_writes_what_the_library_answers() {
    let folder = tempfile::tempdir().unwrap();
    for (model, rows) in [
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
        let (model, rows) = (place("models").join(model), place("rows").join(rows));
        let out = folder.path().join("answers.parquet");
        let mut command = sngp();
        command.arg("predict").arg(&model).arg("--data").arg(&rows).arg("--out").arg(&out);
        run(&mut command, 0);
        let mut records = Records::open(&out).unwrap();
        let columns = records.columns().to_vec();
        let written = records.next_cells(1000).unwrap().unwrap();
        let cell = |row: usize, name: &str| {
            written[row][columns.iter().rposition(|column| column == name).unwrap()].clone()
        };
        let set = Dataset::read(&Place::parse(&rows.display().to_string()), None, false).unwrap();
        let answers = Pipeline::load(&model, &Device::flex()).unwrap().answer(&set).unwrap();
        assert_eq!(answers.len(), written.len(), "{}", model.display());
        for (row, answer) in answers.iter().enumerate() {
            let what = format!("{}, row {row}", model.display());
            match &answer.outcome {
                Some(Outcome::Class { label, probability, .. }) => {
                    assert_eq!(cell(row, "predicted"), Cell::Text(label.clone()), "{what}");
                    assert_eq!(cell(row, "probability"), Cell::Number(*probability), "{what}");
                }
                Some(Outcome::Number { value, low, high }) => {
                    assert_eq!(cell(row, "predicted"), Cell::Number(*value), "{what}");
                    assert_eq!(cell(row, "low"), low.map_or(Cell::Missing, Cell::Number), "{what}");
                    assert_eq!(
                        cell(row, "high"),
                        high.map_or(Cell::Missing, Cell::Number),
                        "{what}"
                    );
                }
                None => assert_eq!(cell(row, "predicted"), Cell::Missing, "{what}"),
            }
            let text = |text: &str| Cell::Text(text.to_string());
            assert_eq!(cell(row, "decision"), text(answer.decision()), "{what}");
            let reason = answer.reason().map_or(Cell::Missing, Cell::Text);
            assert_eq!(cell(row, "reason"), reason, "{what}");
        }
    }
}
