//! What is fuzzed: one function a target, which takes any bytes and must come to an end without a
//! panic, an abort, or a gigabyte of memory. An error is a fine end.
//!
//! The programs in `targets/` give these functions to libFuzzer. The tests of the main workspace
//! give them the files of `seeds/` and `findings/`.

#[cfg(feature = "models")]
pub mod folder;
#[cfg(feature = "models")]
pub mod image_sets;
#[cfg(feature = "models")]
pub mod models;
pub mod readers;
#[cfg(feature = "server")]
pub mod server;

/// A function that takes any bytes.
pub type Body = fn(&[u8]);

/// Every target by name, which is also that of its folder in `seeds` and `findings`.
pub fn targets() -> Vec<(&'static str, Body)> {
    #[allow(unused_mut, reason = "some targets are features")]
    let mut targets: Vec<(&'static str, Body)> = vec![
        ("delimited", readers::delimited),
        ("json_lines", readers::json_lines),
        ("npy", readers::npy),
        ("npz", readers::npz),
        ("safetensors", readers::safetensors),
        ("picture", readers::picture),
    ];
    #[cfg(feature = "parquet")]
    targets.push(("parquet", readers::parquet));
    #[cfg(feature = "models")]
    targets.extend([
        ("idx", image_sets::idx as Body),
        ("mat", image_sets::mat),
        ("cifar", image_sets::cifar),
        ("tokenizer", models::tokenizer),
        ("shard", models::shard),
        ("experiment", models::experiment),
        ("model_folder", models::model_folder),
    ]);
    #[cfg(feature = "server")]
    targets.extend([
        ("infer_request", server::infer_request as Body),
        ("infer_message", server::infer_message),
        ("predict_body", server::predict_body),
    ]);
    targets
}

/// Undoes that libFuzzer ends the program at every panic: readers that catch those of the crates they
/// stand on may. One that nobody catches still ends it, and its message is told by `cargo test` once
/// the input is among the findings.
pub fn let_guards_catch() {
    std::panic::set_hook(Box::new(|_| ()));
}

/// A file with this content that is gone afterwards.
pub(crate) fn with_file(name: &str, content: &[u8], read: impl FnOnce(&std::path::Path)) {
    let folder = tempfile::tempdir().expect("a folder to write to");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("a file to write to");
    read(&path);
}
