//! Files that somebody else wrote: whatever is in them, reading comes to a good end.

#[path = "../common/mod.rs"]
mod common;
mod mutate;
#[cfg(target_os = "linux")]
mod scan;

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use sngp_fuzz::folder::folders;
use sngp_pipeline::input::Dataset;
use sngp_pipeline::{Pipeline, Reason, Verdict};
use sngp_records::Cell;

/// The files of a target's folder, none where there is no such folder.
fn files(kind: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(kind).join(target);
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn what_fuzzing_starts_from_and_what_it_found_ends_well() {
    for (target, body) in sngp_fuzz::targets() {
        let seeds = files("seeds", target);
        assert!(!seeds.is_empty(), "{target} has no seed");
        for file in seeds.into_iter().chain(files("findings", target)) {
            let content = fs::read(&file).unwrap();
            let ended = std::panic::catch_unwind(|| body(&content));
            assert!(ended.is_ok(), "{}", file.display());
        }
    }
}

/// A tokenizer that has no token for what it does not know refuses such a text.
#[test]
fn a_text_that_the_tokenizer_refuses_stops_no_other() {
    let folder = folders().iter().find(|folder| folder.name == "encoder").unwrap();
    let mut tokenizer: serde_json::Value =
        serde_json::from_slice(&folder.files["tokenizer.json"]).unwrap();
    tokenizer["model"]["unk_token"] = "[NONE]".into();
    let place = tempfile::tempdir().unwrap();
    folder.with("tokenizer.json", tokenizer.to_string().as_bytes()).write(place.path());
    let pipeline = Pipeline::load(place.path(), &Device::flex()).unwrap();
    let texts = ["a b", "zqx", "b c"].map(|text| vec![Cell::Text(text.to_string())]);
    let column = pipeline.card().preparation.columns()[0].to_string();
    let rows = Dataset::of_cells(vec![column], texts.to_vec()).unwrap();
    let answers = pipeline.answer(&rows).unwrap();
    assert!(answers[0].outcome.is_some() && answers[2].outcome.is_some(), "{answers:?}");
    assert_eq!(answers[1].verdict, Verdict::Abstained { why: Reason::NotComputable });
}
